package demo

// The families in this file are about who decides in a DAO, and how.

func councilRenewal() family {
	return family{
		tag: "council", category: "Governance", shape: yesOrNo,
		titles: []string{
			"Renew the {dao} {council} for the {nextyear} term",
			"Extend the {council}'s mandate until {month} {nextyear}",
			"Confirm the {seats} members of the {council} until {month} {nextyear}",
			"Reappoint the {council} with a {multisig} multisig, {quarter} {year}",
			"{council}: mandate and budget of {budget} {currency} for {nextyear}",
		},
		summary: []string{
			"This proposal renews the {council} for another {months} months, with {seats} members and a {multisig} multisig.",
			"The mandate of the {council} ends in {month}. We ask the DAO to extend it by {months} months on the terms below.",
			"We propose to confirm {person} and {person2}, together with the other sitting members, on the {council} of {dao}.",
		},
		motivation: []string{
			"Over the past term the {council} answered {users} reports and acted on chain only twice, both times within its published limits.",
			"Without a renewal, the emergency powers of the {council} lapse and a pause would need a full vote of {days} days.",
			"Continuity matters more than novelty here: five of the members know the code, the runbooks and each other's time zones.",
			"Delegates asked in the last call for clearer reporting. The new mandate makes a quarterly report a condition of payment.",
			"The term limits adopted last year remain in force; two seats fall vacant and are filled from the reserve list.",
		},
		steps: []string{
			"The {council} consists of {seats} members; any action needs the signatures set out in its {multisig} multisig.",
			"The mandate runs for {months} months from the day this vote closes.",
			"The {council} may pause the {contract}, but may neither move treasury funds nor upgrade contracts.",
			"A report is posted in the forum within {days} days of every action taken.",
			"The DAO can remove a member at any time by an ordinary vote.",
			"Signers complete a key ceremony and a drill before the term begins.",
		},
		risks: []string{
			"A council with the power to pause can be pressed to use it; the {days}-day reporting duty is the counterweight.",
			"Losing several keys at once would leave the multisig short. Reserve signers lower this risk but do not remove it.",
		},
		costs: []string{"Stipends of {seats} members", "Hardware keys and drills", "Legal advice", "Reserve for emergencies"},
	}
}

func councilElection() family {
	return family{
		tag: "elections", category: "Elections", shape: slate, people: true,
		titles: []string{
			"Elect {seats} members of the {council}, {quarter} {year}",
			"{council} election: {month} {year}",
			"Election of delegates to the {council}, Season {season}",
			"Fill the vacant seats of the {council} ({month} {year})",
			"Who should sit on the {council} in {nextyear}?",
		},
		summary: []string{
			"Nominations for the {council} closed last week. This vote fills {seats} seats for a term of {months} months.",
			"The DAO elects its {council}. All candidates below have posted a statement in the forum and disclosed their conflicts of interest.",
			"Two members of the {council} step down at the end of {month}. We ask token holders to choose their successors.",
		},
		motivation: []string{
			"The {council} reviews about {users} requests a season, and an election is what gives its decisions weight.",
			"The last election saw {figure} turnout. Publishing statements earlier and keeping the vote open longer should improve on that.",
			"An elected body can be voted out, which an appointed one cannot.",
			"Several delegates asked for staggered terms, so that experience is not lost all at once.",
		},
		steps: []string{
			"The candidates with the most support are elected; ties are broken by the earlier nomination.",
			"Candidates may vote for themselves, and disclose that they did.",
			"The term begins {days} days after this vote closes and lasts {months} months.",
			"Members receive the stipend set in the budget; nobody may sit on two councils at once.",
			"If an elected candidate declines, the next one in order takes the seat.",
		},
		risks: []string{
			"Large holders can decide an election alone. The results are published by address so that everyone can see if that happened.",
			"A field of many candidates splits the vote, and the last seat may be won with little support.",
		},
	}
}

func constitutionAmendment() family {
	return family{
		tag: "constitution", category: "Governance", shape: yesOrNo,
		titles: []string{
			"Amend the {dao} constitution: conflicts of interest",
			"Ratify version {version} of the {dao} constitution",
			"{dao} constitution: disclosure and a waiting period of {days} days",
			"Amend Articles {lower} and {percent} of the {dao} constitution",
			"Constitutional amendment, {month} {year}: duties of the {council}",
		},
		summary: []string{
			"This proposal amends the constitution of {dao}. The full text and a marked-up comparison are linked from the forum thread.",
			"We propose to put into writing what has been practice since last season, and to close two gaps that the {council} reported.",
			"The amendment adds a waiting period of {days} days between a vote and its execution, during which holders can object.",
		},
		motivation: []string{
			"The present text was written for a DAO with a tenth of today's treasury and does not say who may act when a contract misbehaves.",
			"In {lastmonth} a budget vote and an upgrade vote contradicted each other. The constitution should say which one prevails.",
			"Delegates who also sell services to the DAO have so far recused themselves out of courtesy. Courtesy is not a rule.",
			"Comparable organizations adopted similar clauses, and their experience after a year is good.",
		},
		steps: []string{
			"Article {season} is replaced by the text in the forum thread.",
			"Members of the {council} disclose holdings above 0.5% of supply and every paid engagement.",
			"A decision that contradicts an earlier one must name it; otherwise the earlier one stands.",
			"The veto period starts when the vote closes and lasts {days} days.",
			"The amendment enters into force {weeks} weeks after it is adopted.",
		},
		risks: []string{
			"A longer process slows down good decisions as well as bad ones.",
			"Disclosure duties may deter candidates who value their privacy.",
		},
	}
}

func votingThresholds() family {
	return family{
		tag: "governance-process", category: "Governance", shape: options,
		titles: []string{
			"Adjust the quorum for {dao} treasury votes",
			"What quorum should {dao} budget votes need in {nextyear}?",
			"Quorum of {dao} votes off chain, {quarter} {year}",
			"{dao}: a quorum of {lower}% for {nextyear}?",
			"{dao} quorum review, {month} {year}",
		},
		summary: []string{
			"The share of supply that takes part in votes has settled well below the quorum set at launch. This poll asks what the number should be.",
			"We compare the options that delegates brought up in the {month} call and ask the DAO to choose one.",
			"Three of the last ten votes passed by a wide margin and failed for want of a quorum. We would like to fix that without making capture easier.",
		},
		motivation: []string{
			"Median turnout over the past {months} months was {lower}% of the delegated supply; the quorum is {percent}%.",
			"A quorum that is rarely met trains people not to vote.",
			"A quorum that is always met protects nothing. The right number lies where a determined minority cannot act alone.",
			"Part of the supply sits in contracts that cannot vote, and should not count against those who can.",
		},
		steps: []string{
			"The chosen value applies to votes created after {month} {year}.",
			"The on-chain Governor keeps its own quorum until a separate proposal changes it.",
			"The {council} publishes turnout figures every quarter.",
			"The value is reviewed after {months} months.",
		},
		risks: []string{
			"A lower quorum makes it cheaper to pass a proposal while nobody is looking.",
			"Changing thresholds often makes the history of votes hard to compare.",
		},
		choices: []string{"Set it to {percent}%", "Set it to {lower}%", "Halve the present value", "Keep the present value"},
	}
}

func delegateProgram() family {
	return family{
		tag: "delegates", category: "Delegates", shape: yesOrNo,
		titles: []string{
			"{dao} delegate incentives, Season {season}",
			"Pay active delegates {budget} {currency} over {months} months",
			"Recognized delegates of {dao}: renew the scheme for {quarter} {year}",
			"Compensate {symbol} delegates by participation for {months} months",
			"{dao} Delegate Program, Season {season}: {seats} seats",
		},
		summary: []string{
			"We propose to reward delegates who vote and explain their votes, with a budget of {budget} {currency} for {months} months.",
			"The pilot ended in {lastmonth}. This proposal turns it into a standing scheme with stricter conditions and a public scorecard.",
			"Up to {seats} delegates receive a monthly stipend if they take part in at least {figure} of votes and give reasons.",
		},
		motivation: []string{
			"Reading proposals well takes ten hours a week. Today this work is done by those who can afford to do it for nothing.",
			"During the pilot, participation of paid delegates rose by {figure} and the number of written rationales tripled.",
			"Delegated supply has grown by {percent}% since the scheme started.",
			"The scorecard of the pilot is public, and anyone can recompute it from the votes.",
		},
		steps: []string{
			"A delegate qualifies with {cap} {symbol} delegated by at least ten addresses.",
			"Participation and rationales are scored monthly; below {figure} no stipend is paid.",
			"Scores are computed by a script whose source is linked from the forum thread.",
			"Payments are streamed and can be stopped by the {council}.",
			"Delegates employed by a service provider of the DAO are not eligible.",
		},
		risks: []string{
			"Paying for participation can buy votes without thought. Requiring a rationale raises the cost of that, no more.",
			"A stipend attracts delegates who leave when it ends.",
		},
		costs: []string{"Delegate stipends", "Scorecard and audits", "Programme lead", "Bonuses for rationales"},
	}
}

func legalWrapper() family {
	return family{
		tag: "legal", category: "Governance", shape: yesOrNo,
		titles: []string{
			"Establish a {dao} foundation in {city}",
			"Mandate the {council} to retain counsel in {city} by {month} {nextyear}",
			"Legal wrapper for the {dao} {program}",
			"Appoint {person} as director of the {dao} foundation",
			"Adopt a limited liability wrapper in {city} before {month} {nextyear}",
		},
		summary: []string{
			"The DAO cannot sign a lease, hold a trademark or employ anyone. This proposal sets up an entity in {city} that can, and that is bound by the DAO's votes.",
			"We ask for a mandate to incorporate an entity for the {program}, with {person} and {person2} as first directors.",
			"Counsel in {city} has compared four jurisdictions; the memo is attached to the forum thread. We propose to follow its recommendation.",
		},
		motivation: []string{
			"Contributors currently carry personal liability for signing contracts on behalf of {dao}.",
			"Two exchanges and one data provider declined to contract with a DAO that has no legal personality.",
			"Grants of the {program} have to be invoiced by individuals, which some countries tax at more than {percent}%.",
			"The entity holds no tokens and no keys. Everything it does needs a vote or falls within a voted budget.",
		},
		steps: []string{
			"Incorporate in {city} with the articles linked from the forum thread.",
			"Appoint two directors and a supervisor; the DAO can replace each of them by a vote.",
			"Transfer the {dao} trademark and domain names to the entity.",
			"Publish accounts within {weeks} weeks of every quarter's end.",
			"Review the arrangement after {months} months and wind it up if the DAO so decides.",
		},
		risks: []string{
			"Directors owe duties under local law that can conflict with a vote.",
			"Regulation in {city} is still moving, and the advice may be outdated within two years.",
		},
		costs: []string{"Incorporation and notary", "Registered office, first year", "Directors' insurance", "Accounting and filings"},
	}
}

func contributorHandover() family {
	return family{
		tag: "operations", category: "Governance", shape: yesOrNo,
		titles: []string{
			"Hand over operations from {team} to the {council}",
			"Transfer the admin keys of the {contract} to the {dao} {council}",
			"Decentralization, stage {season}: the {contract} passes to the {council}",
			"Move the {contract} on {chain} under the control of the {council}",
			"Handover plan, {month} {year}: {team} to the {council}",
		},
		summary: []string{
			"{team} has run day-to-day operations since launch. This proposal moves them to the {council} in three stages over {weeks} weeks.",
			"We propose to hand over what is still run by {team}, and to write down who is responsible for the rest.",
			"The keys of the {contract} are the last ones held outside the DAO. After this vote they are not.",
		},
		motivation: []string{
			"Decentralization was promised for {year}. The tooling is ready and the {council} has rehearsed every procedure on the test network.",
			"Responsibilities overlap between {team} and the {council}, and three incidents in a row were handled twice or not at all.",
			"{person} has trained the members of the {council} for {months} months.",
			"An independent review by {auditor} found no reason to wait.",
		},
		steps: []string{
			"Stage one: shared duty rota for {weeks} weeks.",
			"Stage two: the {council} holds the keys, {team} advises.",
			"Stage three: {team} gives up all access; the list of revoked permissions is published.",
			"Each stage begins only after the {council} has confirmed the one before in the forum.",
			"Documentation is moved to the DAO's own repository.",
		},
		risks: []string{
			"Knowledge gets lost in every handover. The shared rota is meant to bring gaps to light early.",
			"A slower reaction in the first weeks has to be expected.",
		},
	}
}
