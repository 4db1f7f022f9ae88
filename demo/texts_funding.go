package demo

// The families in this file are about money that a DAO spends or invests.

func grantsProgram() family {
	return family{
		tag: "grants", category: "Grants", shape: yesOrNo,
		titles: []string{
			"Fund the {program}, Season {season}",
			"{program}: {budget} {currency} for {quarter} {year}",
			"Renew the {program} for {months} months",
			"Top up the {program} with {budget} {currency}",
			"Relaunch the {program} under {team}",
		},
		summary: []string{
			"We ask for {budget} {currency} to run Season {season} of the {program} for {months} months.",
			"The {program} has spent its budget and achieved most of its goals. This proposal funds the next season, with a smaller committee and larger grants.",
			"{team} has administered the {program} since last year and proposes to continue, on terms that tie half of its fee to results.",
		},
		motivation: []string{
			"Last season {users} applications came in, {seats} were funded, and all but two delivered.",
			"Three integrations that now bring {figure} of our volume began as grants of the {program}.",
			"Applicants waited {days} days for an answer on average. The new process halves that.",
			"Without a decision before {month}, running grants lose their last tranche.",
			"Small grants proved hard to supervise, so the minimum is raised and tranches are tied to milestones.",
		},
		steps: []string{
			"Grants are paid in at least two tranches, the last one after delivery.",
			"A committee of {seats} decides by simple majority and publishes its reasons.",
			"Grants above {small} {currency} need a vote of the DAO.",
			"A report with every grant, recipient and milestone is published each month.",
			"Unspent funds return to the treasury at the end of the season.",
			"Committee members may not apply themselves.",
		},
		risks: []string{
			"Grants are bets, and some will fail. The monthly report makes it visible which ones.",
			"The committee knows many applicants in person. Recusals are recorded.",
		},
		costs: []string{"Grants to builders", "Committee stipends", "Operations and reporting", "Audits for grantees", "Community events"},
	}
}

func serviceProvider() family {
	return family{
		tag: "service-provider", category: "Proposals", shape: yesOrNo,
		titles: []string{
			"Renew {team} for {service}, {months} months",
			"Engage {team} for {service} in {nextyear}",
			"Service agreement with {team}: {budget} {currency}",
			"{service}: mandate for {team} until {month} {nextyear}",
			"{team} as provider of {service}, {quarter} {year}",
		},
		summary: []string{
			"The agreement with {team} on {service} ends in {month}. We propose to renew it for {months} months at {budget} {currency}.",
			"{team} offers to take care of {service}, with response times that are set out below.",
			"This proposal engages {team} for {service}. The scope, the deliverables and the way to end the agreement early are part of the text.",
		},
		motivation: []string{
			"In the past term {team} reviewed {users} changes and raised eleven concerns, of which nine led to a better proposal.",
			"Two other offers were received. They are compared in the forum thread; one is cheaper and one is faster.",
			"For {days} days in {lastmonth} nobody was under contract for {service}, and it showed.",
			"Delegates rated the service at 4.{season} out of 5 in the {month} survey.",
		},
		steps: []string{
			"{team} delivers a monthly report and attends the community call.",
			"Payments are streamed, and the {council} can stop the stream with {days} days' notice.",
			"Incidents of the first class are answered within an hour, at any time of day.",
			"All work is published under an open licence.",
			"A third of the fee is paid in {symbol} that unlocks over {months} months.",
		},
		risks: []string{
			"Relying on one provider makes it hard to leave. The licence and the handover clause are the remedy.",
			"{team} also works for a competitor, which it has disclosed.",
		},
		costs: []string{"Monthly retainer", "Infrastructure", "On-call duty", "Performance fee", "Contingency"},
	}
}

func treasuryDiversification() family {
	return family{
		tag: "treasury", category: "Treasury", shape: options,
		titles: []string{
			"Diversify {percent}% of the {dao} treasury",
			"{dao} treasury: allocation for {nextyear}",
			"Put {budget} {currency} of idle treasury funds to work",
			"Sell {symbol} worth {budget} {currency}: how and when?",
			"How should {dao} hold its reserves after {month} {year}?",
		},
		summary: []string{
			"Most of the treasury is held in {symbol}. We propose to move part of it into assets that do not fall when {symbol} does.",
			"The treasury holds {cap} {currency} that earns nothing. The options below differ in yield, in risk and in how fast the money can be had back.",
			"{team} has prepared four portfolios. This vote picks one; the trades follow within {weeks} weeks.",
		},
		motivation: []string{
			"At the present price the treasury covers {months} months of spending; at half the price, less than half of that.",
			"{asset} yields {lower}% at a risk that {team} considers acceptable for a third of the reserves.",
			"Selling slowly costs less than selling in need.",
			"Comparable DAOs hold between {percent}% and 40% of their reserves outside their own token.",
		},
		steps: []string{
			"Trades are spread over {weeks} weeks and stop if the price falls by more than {percent}%.",
			"No position exceeds a third of the reserves.",
			"The {council} reports holdings and returns every month.",
			"Positions must be redeemable within {days} days.",
		},
		risks: []string{
			"Selling {symbol} can weigh on its price; the daily limit keeps it under 2% of volume.",
			"Every instrument adds an issuer, a contract or a bank that can fail.",
		},
		choices: []string{"{percent}% into dollar stablecoins", "{percent}% into {asset}", "Half stablecoins, half staked ETH", "Keep the treasury as it is", "Abstain"},
	}
}

func liquidityIncentives() family {
	return family{
		tag: "liquidity", category: "Treasury", shape: yesOrNo,
		titles: []string{
			"Liquidity incentives for {asset} on {chain}",
			"Extend {symbol} rewards for {asset} liquidity by {weeks} weeks",
			"{budget} {currency} for {asset} liquidity, {quarter} {year}",
			"Deepen the {asset} market on {chain}",
			"Liquidity programme on {chain}: {weeks} weeks, {budget} {currency}",
		},
		summary: []string{
			"We propose {budget} {currency} of incentives over {weeks} weeks to deepen the market for {asset} on {chain}.",
			"Rewards for liquidity in {asset} end this month. This proposal extends them at {figure} of the present rate.",
			"Liquidity that the DAO owns does not leave when rewards end. Part of this budget buys it, and the rest rents the remainder.",
		},
		motivation: []string{
			"A trade of {small} {currency} moves the price by {lower}% today; the aim is under 0.5%.",
			"Of the volume on {chain}, {figure} passes through pools we do not reward at all.",
			"Rewards paid since {lastmonth} brought deposits worth eleven times their cost, and a third stayed after they ended.",
			"Liquidations of {asset} need a market that can take them.",
		},
		steps: []string{
			"Rewards are distributed in proportion to liquidity within {percent}% of the price.",
			"The programme ends early once {cap} of liquidity is reached.",
			"{team} manages the position and reports every {weeks} weeks.",
			"The {council} may withdraw the liquidity at any time.",
		},
		risks: []string{
			"Incentives attract capital that leaves with them.",
			"Protocol-owned positions lose against holding when prices move far.",
		},
		costs: []string{"Rewards to providers", "Initial position", "Manager's fee", "Bridging and gas"},
	}
}

func hackathon() family {
	return family{
		tag: "events", category: "Grants", shape: yesOrNo,
		titles: []string{
			"Sponsor the {city} hackathon, {month} {year}",
			"{dao} hackathon in {city}, {month} {nextyear}",
			"Fund the builders' week in {city}",
			"Builders' week {city}: {budget} {currency}",
			"Hackathon in {city}: prizes, mentors and scholarships",
		},
		summary: []string{
			"We ask for {budget} {currency} to sponsor the hackathon in {city} and to send {seats} contributors as mentors.",
			"{person} and {person2} offer to organize a gathering of delegates and builders in {city}. The budget covers the venue, scholarships and recordings.",
			"A builders' week in {city} brings together ten teams that build on {dao}.",
		},
		motivation: []string{
			"The last event led to {seats} projects, of which four are live and two have applied to the {program}.",
			"Delegates who have met in person disagree more productively.",
			"{city} is home to more than {users} developers in our field, and nobody has reached out to them.",
			"Scholarships let people come who could not pay for the trip.",
		},
		steps: []string{
			"Prizes are paid after the winning code is published under an open licence.",
			"The organizers post accounts with receipts within {weeks} weeks of the event.",
			"Talks are recorded and released free of charge.",
			"Travel is reimbursed up to a fixed sum a person.",
			"Money left over returns to the treasury.",
		},
		risks: []string{
			"Events are hard to measure. We report what teams do {months} months later rather than how many came.",
			"If the event is cancelled, up to {figure} of the venue's price is lost.",
		},
		costs: []string{"Venue and catering", "Prizes", "Travel scholarships", "Recording and streaming", "Organizers' fee"},
	}
}

func grantRound() family {
	return family{
		tag: "public-goods", category: "Grants", shape: allocation,
		titles: []string{
			"{program}, round {season}: divide {budget} {currency}",
			"Public goods round {season}: which projects should we fund?",
			"Matching round for tooling, {month} {year}",
			"Retroactive funding for {quarter} {year}",
			"Allocate the {program}'s community pool, Season {season}",
		},
		summary: []string{
			"A pool of {budget} {currency} is divided among the projects below in proportion to the votes they receive.",
			"The committee of the {program} has screened {users} applications. Those listed meet the criteria, and voters decide how much each of them gets.",
			"This round rewards work that has already been done and that everybody in the ecosystem uses for free.",
		},
		motivation: []string{
			"Libraries, explorers and translations have no business model and many users.",
			"Deciding amounts by vote showed surprising and sensible results in round one.",
			"Spreading a vote over several projects is encouraged: nobody has to name a single favourite.",
			"The committee's own ranking is published after the vote, not before, so as not to influence it.",
		},
		steps: []string{
			"Voters distribute their power over any number of projects.",
			"Projects that receive less than {lower}% get nothing, and their share goes to the others.",
			"No project receives more than {percent}% of the pool.",
			"Payments are made within {weeks} weeks of the vote.",
			"Recipients report after {months} months on what the money was used for.",
		},
		risks: []string{
			"Projects with loud supporters may outdo useful ones without.",
			"Some voters work for projects on the list; the vote is public.",
		},
		choices: []string{
			"Block explorer for {chain}", "Governance notifier", "Open-source indexer", "Spanish translations", "Wallet plugin",
			"Delegate dashboard", "Fuzzing toolkit", "Research newsletter", "Node dashboards", "Turkish community", "Education series", "Tax export tool",
		},
	}
}

func budgetSplit() family {
	return family{
		tag: "budget", category: "Treasury", shape: allocation,
		titles: []string{
			"{dao} budget priorities, {quarter} {nextyear}",
			"How should {budget} {currency} be divided between working groups?",
			"{dao} working group budgets, Season {season}",
			"Distribute the surplus of {quarter} {year}: {budget} {currency}",
			"Split the growth budget of {budget} {currency}, {month} to {nextmonth}",
		},
		summary: []string{
			"The budget for the coming season is {budget} {currency}. This vote decides how it is divided between the working groups.",
			"All working groups have posted their plans. Together they ask for twice what there is.",
			"Voters state their priorities by spreading their power; the {council} turns the result into a budget.",
		},
		motivation: []string{
			"In past seasons budgets were decided one by one, and those who came last found the treasury empty.",
			"A single vote makes the trade-off visible.",
			"The plans differ in size by a factor of ten, and in ambition not at all.",
			"Spending was {figure} of budget last season; groups that underspent have been asked to lower their plans.",
		},
		steps: []string{
			"Each group receives its share of the votes, at most what it asked for.",
			"What is cut from one group goes to the others in proportion.",
			"Budgets are paid monthly and can be stopped by a vote.",
			"Groups report on goals at the end of the season.",
		},
		risks: []string{
			"Groups that work in the background get fewer votes than those on stage.",
			"A share that is too small to hire anyone helps nobody.",
		},
		choices: []string{
			"Protocol development", "Risk and security", "Growth and integrations", "Community and education", "Treasury operations",
			"Governance and legal", "Research", "Design",
		},
	}
}
