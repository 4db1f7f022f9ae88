package demo

// talk is a kind of forum topic that is not about one proposal.
type talk struct {
	tag, category string
	titles        []string
	sentences     []string
	items         []string
}

// talks returns what people write about in a forum between proposals.
func talks() []talk {
	return []talk{delegatePlatform(), monthlyReport(), supportQuestion(), callNotes(), researchNote(), incidentNotice(), earlyIdea(), introduction()}
}

func delegatePlatform() talk {
	return talk{
		tag: "delegate-platform", category: "Delegates",
		titles: []string{"Delegate platform: {person}", "{person}: delegate statement {year}", "{team} delegate platform", "{person}'s voting record, {quarter} {year}"},
		sentences: []string{
			"I have used {dao} since its first season and have been voting since {lastmonth}.",
			"My day job is with {team}, which does no business with the DAO. Should that change, I will say so here.",
			"I vote on everything, give my reasons in this thread and change my mind when the arguments are better.",
			"What I care about most is that small depositors get the same information as large ones.",
			"On budgets I am careful: a mandate should say what is delivered, by when, and what happens if it is not.",
			"I abstain where I have a conflict of interest, and where I have not understood the proposal.",
		},
		items: []string{"Risk: caps follow liquidity, never the other way round.", "Treasury: two years of runway before anything else.", "Governance: fewer votes, better prepared.", "Growth: one deployment done well rather than five.", "Transparency: every payment on a public sheet."},
	}
}

func monthlyReport() talk {
	return talk{
		tag: "report", category: "Announcements",
		titles: []string{"{program}: report for {month} {year}", "{council} report, {quarter} {year}", "Treasury report {month} {year}", "{team}: what we did in {month} {year}"},
		sentences: []string{
			"This is the regular report of the {council}. Questions are welcome below or in the next community call.",
			"Spending was {figure} of budget, with {small} {currency} paid out to {seats} recipients.",
			"The {market} grew by {percent}% and stands at {cap}.",
			"One incident of low severity occurred. It was noticed by monitoring and resolved within the hour.",
			"Next month we will prepare the vote on the {contract} and finish the move to {chain}.",
		},
		items: []string{"Applications received: {users}", "Decisions taken: {seats}", "Average time to answer: {days} days", "Paid out: {small} {currency}", "Open questions: see the thread on the {market}"},
	}
}

func supportQuestion() talk {
	return talk{
		tag: "support", category: "General",
		titles: []string{"Why is my voting power lower than my balance?", "Voting with a hardware wallet on {chain}", "My vote in the {council} election does not show", "How do I delegate to two people?", "Stuck withdrawal from the {market}"},
		sentences: []string{
			"I hold {symbol} on {chain} and the vote shows only half of it.",
			"Is this because the snapshot was taken before I unstaked, or did I miss a step?",
			"I tried another browser and another wallet, with the same result.",
			"It is not urgent for me, but the vote on the {contract} closes in {days} days and I would like to take part.",
			"Thanks in advance, and thanks to {person} for the guide, which got me this far.",
		},
		items: []string{"Wallet: hardware, newest firmware", "Network: {chain}", "Delegated to: myself"},
	}
}

func callNotes() talk {
	return talk{
		tag: "community-call", category: "Announcements",
		titles: []string{"Community call notes, {month} {year}", "Delegate call #{epoch}: agenda and notes", "Notes from the {council} office hour, {month}", "Town hall in {city}: recording"},
		sentences: []string{
			"About {seats} people joined. The recording will be up within {days} days; these notes are mine, and mistakes are too.",
			"{person} presented the plan for {chain} and answered questions on the bridge.",
			"There was a longer discussion about the {program}: most speakers want fewer and larger grants.",
			"{person2} asked for comments on the draft for the {market} before the end of the week.",
			"The next call is in two weeks at the usual time.",
		},
		items: []string{"Update on the {contract} ({team})", "Open votes and deadlines", "Budget for {quarter}", "Questions from the forum", "Any other business"},
	}
}

func researchNote() talk {
	return talk{
		tag: "research", category: "Governance",
		titles: []string{"Who votes at {dao}? Turnout in {year}", "Concentration of voting power, {quarter} {year}", "How sticky is the liquidity in the {market}?", "What other DAOs pay their councils"},
		sentences: []string{
			"I looked at all votes of the past {months} months and would like to share what I found.",
			"Ten addresses cast {figure} of the power in the median vote, and a different ten each quarter.",
			"Turnout is higher where the forum thread is older than {days} days, which I take as an argument for waiting.",
			"The notebook and the data are public. If you find a mistake, please tell me.",
			"Correlation is all this is; I would be careful with conclusions.",
		},
		items: []string{"Median turnout: {lower}% of supply", "Largest single vote: {cap} {symbol}", "Addresses that voted once only: {figure}", "Votes decided by one address: {season}"},
	}
}

func incidentNotice() talk {
	return talk{
		tag: "incident", category: "Announcements",
		titles: []string{"Incident: {market} paused on {chain}", "Post-mortem: {contract}, {month} {year}", "Interface outage in {month}", "Delayed price updates of {asset}"},
		sentences: []string{
			"At 04:12 UTC monitoring reported prices of {asset} that were older than {days} minutes.",
			"The {council} paused the {market} at 04:31. No funds were lost, and withdrawals were possible throughout.",
			"The cause was an expired key at the data provider; it has been replaced.",
			"A full post-mortem follows within {weeks} weeks. Until then, the cap stays at {oldcap}.",
		},
		items: []string{"04:12 alarm", "04:31 pause", "05:20 cause found", "07:45 fix deployed", "09:00 market open again"},
	}
}

func earlyIdea() talk {
	return talk{
		tag: "idea", category: "Governance",
		titles: []string{"Idea: a savings account on top of the {market}", "Should we have a presence on {chain}?", "Pre-draft: merging the {program} with the {council}", "Thoughts on {symbol} beyond voting", "Could the {contract} be made immutable?"},
		sentences: []string{
			"This is not a proposal, only a thought that came up in the last call, and I would like to hear whether it is worth a draft.",
			"As I see it, the {market} does one thing well, and most people never find it.",
			"A first estimate by {team} puts the effort at {weeks} weeks and {small} {currency}.",
			"I know that {person} suggested something similar in {lastmonth}. What has changed since is that {chain} is live.",
			"Please tear it apart.",
		},
		items: []string{"Who would use it?", "What could go wrong?", "Who would maintain it?", "What would we stop doing instead?"},
	}
}

func introduction() talk {
	return talk{
		tag: "introductions", category: "General",
		titles: []string{"Hello from {city}", "{team} introduces itself", "Introduce yourself, {year} edition", "New here: {person}"},
		sentences: []string{
			"I have been reading along for {months} months and decided to say hello.",
			"I come from risk management and would like to help with the {market}.",
			"Is there a list of open tasks for newcomers? The one in the documentation ends in {lastmonth}.",
			"Happy to review drafts and to translate.",
		},
		items: []string{"Time zone: {city}", "Hours a week: {days}", "Reads: risk reports, call notes"},
	}
}
