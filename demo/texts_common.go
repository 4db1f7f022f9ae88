package demo

// families returns every kind of proposal.
func families() []family {
	return []family{
		borrowCap(), grantsProgram(), chainDeployment(), councilElection(), contractUpgrade(),
		treasuryDiversification(), councilRenewal(), gaugeWeights(), serviceProvider(), feeChange(),
		compensation(), grantRound(), delegateProgram(), oracleChange(), votingThresholds(),
		liquidityIncentives(), providerSelection(), bugBounty(), partnership(), budgetSplit(),
		constitutionAmendment(), marketPause(), interestModel(), hackathon(), legalWrapper(),
		stakingTerms(), tokenBurn(), tokenBuyback(), contributorHandover(), translationPoll(), namingPoll(),
	}
}

// commonMotivation returns reasons that any proposal may give.
func commonMotivation() []string {
	return []string{
		"The forum thread was open for {days} days and drew more comments than usual; the draft was changed in three places because of them.",
		"A temperature check in {lastmonth} found {figure} in favour.",
		"The subject came up in the last two community calls, and nobody spoke against a vote.",
		"{person} and {person2} reviewed an earlier draft; remaining mistakes are ours.",
		"Doing nothing is a choice too, and in our view the more expensive one.",
		"We have kept the scope small on purpose, so that it can be judged on its own.",
		"The {council} was consulted and has no objection.",
		"This follows the road map that the DAO adopted for {year}.",
		"Delegates holding about {percent}% of the supply have said in the thread that they support it.",
		"A similar proposal failed last year for want of a quorum. Its arguments still hold, and its numbers have been updated.",
		"We are aware that budgets are tight and have left out everything that can wait.",
	}
}

// commonSteps returns what any decision may entail.
func commonSteps() []string {
	return []string{
		"If the vote fails, the proposal may be brought back after {weeks} weeks at the earliest.",
		"Progress is reported in this forum thread.",
		"{person} is responsible for carrying this out and can be reached in the forum.",
		"The decision is reviewed after {months} months.",
		"Changes of detail that do not alter the purpose may be made by the {council}.",
	}
}

// commonRisks returns what may be said against any proposal.
func commonRisks() []string {
	return []string{
		"The estimates in this proposal may turn out too optimistic. We will say so early if they do.",
		"Attention is limited; this vote competes with others that close in the same week.",
		"Some holders cannot vote from their custody accounts and are not heard.",
		"If {team} is not available, the work is delayed by up to {weeks} weeks.",
	}
}

// closings returns what a proposal may end with.
func closings() []string {
	return []string{
		"Thanks to everyone who commented on the draft.",
		"Questions are welcome in the forum thread until the vote closes.",
		"The authors hold {symbol} and will vote in favour.",
		"The authors were not paid for writing this proposal.",
		"An earlier version of this text was posted in {lastmonth}; changes are listed at the end of the thread.",
		"",
	}
}

// approvals returns the choices of a vote for or against, by how they are worded.
// The first one approves and the second one rejects.
func approvals() [][]string {
	return [][]string{
		{"Yes", "No"},
		{"For", "Against"},
		{"Approve", "Reject", "Abstain"},
		{"Yes, adopt the proposal", "No, leave things as they are"},
		{"In favor", "Against", "Abstain"},
		{"YES", "NO", "ABSTAIN"},
		{"For - carry it out as specified", "Against - do nothing"},
		{"Accept", "Decline"},
	}
}

// reasons returns what voters give as their reasons, put together from an opinion
// and an argument. None of it needs escaping in JSON.
func reasons() []string {
	opinions := words("In favour.|For.|Against.|Supportive overall.|Voting as announced in the thread.|Changed my vote.|Reluctant yes.|Not convinced.|Strong support.|Following our delegates.|As in the temperature check.|On balance yes.|No, for now.")
	arguments := words("The budget is reasonable for what is delivered.|The risk report answers my questions.|I would have liked a smaller pilot first.|Reporting has improved a lot since last season.|The caps are conservative enough.|We need a second offer before we commit.|The team has delivered so far.|Liquidity does not support this yet.|Happy to revisit after the review.|Please publish the accounts monthly.|The conflict of interest is disclosed, that is enough for me.|The timeline is too short.|This has been discussed long enough.|The status quo costs us more.|See my rationale in the forum.|Thanks to the authors for taking the comments on board.|A sunset clause would have been better.|The quorum worries me more than the content.")
	all := make([]string, 0, len(opinions)*len(arguments)+len(arguments))
	for _, argument := range arguments {
		all = append(all, argument)
		for _, opinion := range opinions {
			all = append(all, opinion+" "+argument)
		}
	}
	return all
}
