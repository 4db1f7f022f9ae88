package demo

// The families in this file are about what a DAO's contracts do, and what can go
// wrong with them.

func borrowCap() family {
	return family{
		tag: "risk", category: "Proposals", shape: yesOrNo,
		titles: []string{
			"Raise the {market}'s borrow cap to {cap}",
			"Supply cap of {asset}: {oldcap} to {cap}",
			"Increase the debt ceiling of the {market} from {oldcap} to {cap}",
			"{market}: a cap of {cap} after {weeks} weeks at the limit",
			"Cap update, {month} {year}: {market} to {cap}",
			"Lift the cap on {asset} to {cap}",
		},
		summary: []string{
			"The {market} has been at its cap of {oldcap} for {weeks} weeks. We propose to raise the cap to {cap}.",
			"This proposal raises the limit for {asset} from {oldcap} to {cap}, on the advice of {team}.",
			"Demand for {asset} exceeds what the present limit of {oldcap} allows. The new limit of {cap} is still below a fifth of the liquidity on chain.",
		},
		motivation: []string{
			"Utilization has stayed above {figure} since {lastmonth}, and borrowers have started to move elsewhere.",
			"{team} simulated price drops of up to 40% within a day; at a cap of {cap} no bad debt arises in any of the runs.",
			"Liquidity of {asset} on chain has doubled since the cap was last set.",
			"Every week at the cap costs the protocol an estimated {small} {currency} in fees.",
			"The largest borrower accounts for {percent}% of the debt, down from twice that a year ago.",
		},
		steps: []string{
			"Set the borrow cap of the {market} to {cap}.",
			"Leave the liquidation threshold and the reserve factor unchanged.",
			"Raise the cap in two steps, {days} days apart, and stop if utilization falls below 60%.",
			"The {council} may lower the cap again without a vote, but not raise it.",
			"{team} reports on concentration and liquidity after {weeks} weeks.",
		},
		risks: []string{
			"A single large position could become hard to liquidate in a thin market.",
			"The oracle of {asset} updates with a delay; the liquidation bonus has been set with that in mind.",
			"Simulations use past volatility, and the future need not resemble it.",
		},
	}
}

func interestModel() family {
	return family{
		tag: "risk", category: "Proposals", shape: options,
		titles: []string{
			"Interest rate curve of the {market}, {month} {year}",
			"Choose the base rate for {asset}: {lower}% or {percent}%?",
			"Rate curve of the {market}: options for {quarter}",
			"Borrow rate of {asset} after the {month} volatility",
			"What should borrowing {asset} cost in {nextyear}?",
		},
		summary: []string{
			"The slope of the {market}'s rate curve was set before {asset} was listed. Three alternatives are on the table.",
			"Rates on {asset} have been out of line with other venues since {lastmonth}. We ask the DAO to choose among the options that {team} worked out.",
			"This poll decides the direction. The contract call follows as a separate on-chain proposal.",
		},
		motivation: []string{
			"At the present curve, lenders earn {lower}% while other venues pay {percent}%; deposits fell by {figure} in {lastmonth}.",
			"A steeper curve above the kink protects withdrawals, which became slow three times this quarter.",
			"{team} recommends the first option, and explains in the forum thread why the others are defensible.",
			"Small depositors are hit hardest when utilization sticks at 100%.",
		},
		steps: []string{
			"The curve changes for new and existing loans alike, from the block in which it is executed.",
			"The kink stays at {figure} utilization.",
			"{team} monitors the market for {weeks} weeks and reports.",
			"If deposits fall by more than {percent}%, the {council} puts the previous curve back.",
		},
		risks: []string{
			"A higher rate can push borrowers to repay at once, and income falls before it rises.",
			"Rates on other venues may move before the change is executed.",
		},
		choices: []string{"Base rate {percent}%, steeper slope", "Base rate {lower}%, flatter slope", "Follow the reference rate", "No change"},
	}
}

func contractUpgrade() family {
	return family{
		tag: "upgrade", category: "Proposals", shape: yesOrNo,
		titles: []string{
			"Upgrade the {contract} to {version}",
			"Protocol upgrade {version}: {contract} and {market}",
			"Activate {version} of the {contract} on {chain}",
			"Migrate the {market} to the {version} {contract}",
			"{contract} {version}: activate after the audit",
		},
		summary: []string{
			"Version {version} of the {contract} is audited and has run on the test network for {weeks} weeks. This proposal activates it.",
			"We propose to replace the {contract}. Positions migrate on their own; users need to do nothing.",
			"The upgrade fixes two findings of low severity, lowers gas costs by about {figure} and prepares the deployment on {chain}.",
		},
		motivation: []string{
			"The present {contract} cannot price {asset} correctly when the market is closed, and needs a manual override every weekend.",
			"{auditor} found no issue of high severity. The two medium ones are fixed, and the fixes were reviewed.",
			"A withdrawal costs {figure} less gas after the upgrade, which matters most to small depositors.",
			"Maintaining two versions doubles the work of every change and of every incident.",
		},
		steps: []string{
			"Deploy the new implementation, whose address and bytecode hash are in the forum thread.",
			"Queue the upgrade in the timelock for {days} days.",
			"Point the {market} to the new {contract}.",
			"Keep the old contract readable, with deposits disabled, for {months} months.",
			"Extend the bug bounty to the new code from the day it is deployed.",
		},
		risks: []string{
			"Every upgrade can introduce what the audit did not look for. Caps stay at half their values for the first {weeks} weeks.",
			"Integrations that read storage directly will break; the known ones have been told.",
		},
		costs: []string{"Audit by {auditor}", "Review of fixes", "Deployment and monitoring", "Bounty reserve"},
	}
}

func compensation() family {
	return family{
		tag: "incident", category: "Proposals", shape: yesOrNo,
		titles: []string{
			"Compensate affected depositors of the {lastmonth} incident on {chain}",
			"Make the {market}'s lenders whole after the {lastmonth} {year} oracle failure",
			"Reimburse {users} accounts liquidated on {chain} by mistake",
			"Use {budget} {currency} of the safety fund for the {lastmonth} incident",
			"Post-mortem and compensation plan: {contract}, {lastmonth} {year}",
		},
		summary: []string{
			"On a weekend in {lastmonth}, the {contract} priced {asset} wrongly for 47 minutes. This proposal compensates the {users} accounts that lost money through no fault of their own.",
			"We propose to pay {budget} {currency} from the safety fund to those affected, in proportion to their verified losses.",
			"The post-mortem is complete. What is left is to decide who bears the loss, and we think it should not be the depositors.",
		},
		motivation: []string{
			"The error was in our configuration, not in the users' decisions.",
			"Losses were recomputed block by block by {team} and by {auditor}, independently; the two lists agree.",
			"The safety fund was set up for this case and holds more than three times the amount.",
			"Deposits have fallen by {figure} since the incident; a prompt and complete settlement is the best answer to that.",
			"Accounts that profited from the wrong price have returned {small} {currency} so far.",
		},
		steps: []string{
			"A claim contract is funded with {budget} {currency}.",
			"Each account on the list can claim its share for {months} months; unclaimed amounts return to the fund.",
			"Accounts under {percent} {currency} are paid directly, without a claim.",
			"The price feed gets a second source and a limit on its change per block.",
			"The {council} publishes the final report within {weeks} weeks.",
		},
		risks: []string{
			"A precedent is set. The text says that only losses caused by a defect are covered, and market losses are not.",
			"Some accounts belong to contracts whose users cannot be told apart; they are dealt with one by one.",
		},
		costs: []string{"Verified losses of depositors", "Liquidation penalties", "Claim contract and audit", "Reserve for late claims"},
	}
}

func oracleChange() family {
	return family{
		tag: "oracle", category: "Proposals", shape: yesOrNo,
		titles: []string{
			"Move the {market} on {chain} to a median of three price feeds",
			"Three price feeds for {asset} in the {market}",
			"Replace the single price feed of {asset} in the {market} on {chain}",
			"Oracle settings of {asset} on {chain}",
			"Add two price sources for {asset} to the {contract}",
		},
		summary: []string{
			"The {market} depends on one price feed for {asset}. We propose a median of three, with a limit of {percent}% per block.",
			"The present feed of {asset} is retired by its operator at the end of {month}. This proposal puts three others in its place.",
			"We add two sources to the present one and take the median, so that no single feed can move the price of {asset}.",
		},
		motivation: []string{
			"In {lastmonth} the feed stood still for {days} minutes while the market moved by {lower}%.",
			"{team} compared four feeds over {months} months; the report is linked from the forum thread.",
			"Deviation between the proposed sources stayed under 0.4% on {figure} of days.",
			"Liquidators have asked for more frequent updates since the listing of {asset}.",
		},
		steps: []string{
			"Configure the {contract} with the three feeds listed in the forum thread.",
			"Reject a price that is older than {days} minutes.",
			"Pause borrowing, but never repayment, while fewer than two feeds answer.",
			"{team} watches the first {weeks} weeks and reports every deviation above 1%.",
		},
		risks: []string{
			"Three feeds can fail together if they draw on the same exchange. The sources were chosen to make that unlikely.",
			"More updates cost more gas, about {small} {currency} a year.",
		},
	}
}

func bugBounty() family {
	return family{
		tag: "security", category: "Proposals", shape: yesOrNo,
		titles: []string{
			"{dao} security budget for {quarter} {year}",
			"{budget} {currency} for audits and bounties",
			"Security budget: {auditor}, bounties and a contest",
			"Raise the security budget before {version} is deployed",
			"Bounties and reviews for {nextyear}: {budget} {currency}",
		},
		summary: []string{
			"The largest bounty we offer has not changed since launch, while the value at stake has grown tenfold. We propose a security budget of {budget} {currency}.",
			"This proposal funds bounties and {months} months of review by {auditor}, with a right of first call in an incident.",
			"We ask for {budget} {currency} to pay for bounties, for reviews of the {contract} and for an open contest before {version} is deployed.",
		},
		motivation: []string{
			"A finder of a critical bug should never have to weigh our bounty against another offer.",
			"Two of the last four upgrades waited for an auditor for more than {weeks} weeks.",
			"The bounty programme received {users} reports last year; three were severe and all three were paid within {days} days.",
			"Open contests find other kinds of mistakes than a team of two auditors does.",
		},
		steps: []string{
			"Critical findings are paid at 10% of the funds at risk, up to the maximum.",
			"Payments are made by the {council} within {days} days of confirmation.",
			"The review covers the {contract}, the {market} and all deployment scripts.",
			"Unused review days carry over once.",
			"Findings are published {weeks} weeks after they are fixed.",
		},
		risks: []string{
			"A larger bounty attracts more reports of little value. Triage is paid for in this budget.",
			"An audit is evidence, not proof.",
		},
		costs: []string{"Review days of {auditor}", "Bounty reserve", "Triage", "Contest prizes", "Verification tooling"},
	}
}

func marketPause() family {
	return family{
		tag: "risk", category: "Proposals", shape: yesOrNo,
		titles: []string{
			"Pause new borrowing against {asset} on {chain}",
			"Wind down {asset} in the {market} by {nextmonth}",
			"Delist {asset} from the {market} by {month} {nextyear}",
			"Offboard {asset} from the {market}: three steps over {weeks} weeks",
			"Retire {asset} as collateral of the {market}",
		},
		summary: []string{
			"Liquidity of {asset} has fallen by {figure} since {lastmonth}. We propose to stop new borrowing against it and to wind down what exists.",
			"The {market} no longer has the liquidity to take large liquidations of {asset}. Before that becomes a loss, we would like to close the market in order.",
			"{asset} no longer meets the listing criteria adopted last year. It is to be removed in three steps that leave borrowers time to act.",
		},
		motivation: []string{
			"Only two addresses provide {figure} of the remaining liquidity.",
			"{team} rates the market as unsafe at any cap above {oldcap}.",
			"The issuer has announced that redemption will move to {chain}, and the present token will lose its backing.",
			"Lenders have asked for clarity since the volatility of {lastmonth}.",
		},
		steps: []string{
			"Set the borrow cap to zero at once.",
			"Lower the liquidation threshold by {lower} points a week for {weeks} weeks.",
			"Repayment and withdrawal remain possible at all times.",
			"Announce each step in the forum and in the interface {days} days ahead.",
			"Write off remaining dust below {small} {currency} from the reserve.",
		},
		risks: []string{
			"Borrowers who do not read the forum may be liquidated. The interface shows a warning from day one.",
			"Winding down too slowly leaves the protocol with the last and worst positions.",
		},
	}
}

func feeChange() family {
	return family{
		tag: "fees", category: "Proposals", shape: options,
		titles: []string{
			"Protocol fee of the {market}: {lowerbps} or {bps} basis points?",
			"Turn on the {dao} fee switch in {quarter} {year}?",
			"What should happen with {dao} protocol fees in {nextyear}?",
			"Fee split between the treasury and {symbol} stakers, {month} {year}",
			"Swap fee on {asset} pairs: {lowerbps} or {bps} basis points?",
		},
		summary: []string{
			"The protocol earns about {budget} {currency} a year in fees. This poll asks how high they should be and who should receive them.",
			"Since {lastmonth} competing venues charge {lowerbps} basis points; we charge {bps}. Four options are put to the vote.",
			"Delegates discussed the fee switch in three calls. What is left are the options below.",
		},
		motivation: []string{
			"Volume in {asset} fell by {figure} after a competitor lowered its fee.",
			"The treasury covers {months} months of expenses at the present income.",
			"Stakers carry the risk of the safety module and have received no fees so far.",
			"A fee that is too low subsidizes arbitrage and nobody else.",
		},
		steps: []string{
			"The option with the most votes is turned into an on-chain proposal within {weeks} weeks.",
			"The fee applies to the {market} first and to other markets after {months} months.",
			"Income and volume are reported monthly.",
			"The {council} may suspend the fee for at most {days} days in an emergency.",
		},
		risks: []string{
			"Volume can move within hours, and fee changes take days.",
			"Distributing fees may have tax consequences for holders in some countries.",
		},
		choices: []string{"{bps} basis points, all to the treasury", "{lowerbps} basis points, all to the treasury", "{bps} basis points, half to stakers", "No fee for another {months} months", "Abstain"},
	}
}

func stakingTerms() family {
	return family{
		tag: "staking", category: "Proposals", shape: options,
		titles: []string{
			"{symbol} staking rewards for {quarter} {year}",
			"{dao} safety module: reward rate from {month} {year}",
			"How should {symbol} stakers be rewarded in {nextyear}?",
			"Renew the {symbol} staking rewards?",
			"{symbol} staking terms, Season {season}",
		},
		summary: []string{
			"The safety module holds {figure} of circulating {symbol}. We ask whether its terms should change with the new season.",
			"Rewards for stakers end in {month}. The DAO may renew them, lower them or let them end.",
			"This vote chooses among the terms that came out of the working group led by {person}.",
		},
		motivation: []string{
			"Rewards cost {budget} {currency} a year, more than any other budget line.",
			"A longer unstaking period makes the module a better backstop and a worse investment.",
			"Of all stakers, {figure} have not moved their stake for a year and would probably stay at a lower rate.",
			"Comparable protocols pay between {lower}% and {percent}%.",
		},
		steps: []string{
			"The new terms apply from the first day of {month}.",
			"Stakers can leave under the old terms for {days} days.",
			"The reward rate is reviewed after {months} months.",
			"{team} publishes a dashboard of stake, rewards and coverage.",
		},
		risks: []string{
			"A lower rate may cause withdrawals just when coverage is needed.",
			"Any change close to a season's end is read as a signal, intended or not.",
		},
		choices: []string{"Renew at {percent}%", "Lower to {lower}%", "Lengthen the period, keep the rate", "End the rewards"},
	}
}
