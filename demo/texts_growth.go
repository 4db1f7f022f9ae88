package demo

// The families in this file are about where a DAO wants to be present, with whom,
// and under which name.

func chainDeployment() family {
	return family{
		tag: "deployment", category: "Proposals", shape: yesOrNo,
		titles: []string{
			"Deploy {dao} to {chain}",
			"Deploy the {market} to {chain}",
			"{dao} {version} on {chain}: deployment and incentives",
			"Recognize the {chain} deployment of the {market} as canonical",
			"Launch on {chain} in {quarter} {year}",
			"Open a {market} on {chain}",
		},
		summary: []string{
			"We propose to deploy {dao} on {chain}, beginning with the {market} and a cap of {cap}.",
			"{team} offers to carry out and pay for the deployment on {chain}; the DAO is asked to recognize it and to take over its keys.",
			"{chain} has grown to {users} daily users of lending and trading, and has no market for {asset}. We would like to be the first.",
		},
		motivation: []string{
			"The {chain} foundation has set aside incentives of {budget} {currency} for protocols that launch before {month}.",
			"Fees on {chain} are a fraction of what our users pay today, and deposits under {small} become worthwhile.",
			"The bridge was audited by {auditor}, and withdrawals have a delay of {days} days that the {council} can use.",
			"Two forks have been deployed there already. Users should be able to tell which one is ours.",
			"{person} has run a node on {chain} since its test network and will be on call for the first {weeks} weeks.",
		},
		steps: []string{
			"Deploy the contracts at the addresses listed in the forum thread, from the audited commit.",
			"Start with the {market} and add {asset} after {weeks} weeks.",
			"Cap deposits at {cap} until the first review.",
			"Governance messages are relayed through the canonical bridge with a delay of {days} days.",
			"Transfer ownership to the DAO's cross-chain executor.",
		},
		risks: []string{
			"The sequencer of {chain} is run by one company; an outage would halt liquidations.",
			"Liquidity is thin at first. Caps are set so that the whole market can be liquidated within a day.",
			"Bridges are the part of any deployment that fails most often.",
		},
		costs: []string{"Deployment and gas", "Price feeds, first year", "Launch incentives", "Monitoring"},
	}
}

func partnership() family {
	return family{
		tag: "partnership", category: "Proposals", shape: yesOrNo,
		titles: []string{
			"Token swap with {partner}",
			"Token swap and integration with {partner}, {months} months",
			"Partnership with {partner}: swap and joint market",
			"Strategic partnership with {partner}",
			"{partner}: exchange of tokens and observers",
		},
		summary: []string{
			"We propose to swap {symbol} worth {budget} {currency} for tokens of {partner}, locked on both sides for {months} months.",
			"{partner} would route its flow of {asset} through the {market}. In return, {dao} lists its receipt token as collateral.",
			"This proposal sets the terms of working together with {partner}; the agreement can be ended with {weeks} weeks' notice.",
		},
		motivation: []string{
			"Users of the two protocols overlap by {figure}, and most of them pay twice for the same hop.",
			"{partner} has {users} active wallets and no lending market of its own.",
			"Holding each other's tokens gives both sides a vote and a reason to use it.",
			"A pilot on {chain} brought {cap} of deposits within {weeks} weeks.",
		},
		steps: []string{
			"The swap is executed at the average price of the {days} days before the vote ends.",
			"Both sides lock the tokens for {months} months and delegate them to their councils.",
			"{team} builds the adapter; {auditor} reviews it.",
			"Each side may appoint one observer to the other's {council}.",
			"A joint report is published every quarter.",
		},
		risks: []string{
			"The value of the tokens received may fall faster than that of those given.",
			"Both protocols become more exposed to each other's mistakes.",
		},
	}
}

func gaugeWeights() family {
	return family{
		tag: "emissions", category: "Proposals", shape: allocation,
		titles: []string{
			"{symbol} gauge weights, {month} {year}",
			"{symbol} emissions for epoch {epoch}",
			"Distribute {cap} {symbol} of emissions in {month}",
			"{symbol} gauge vote {epoch}",
			"Where should the {symbol} emissions of {quarter} {year} go?",
		},
		summary: []string{
			"This vote sets the weights by which {symbol} emissions are distributed over the pools for the next {weeks} weeks.",
			"Voters split their power over the pools below. Weights apply from the next epoch.",
			"Epoch {epoch} distributes {cap} {symbol}. As always, what you vote for is what gets rewarded.",
		},
		motivation: []string{
			"Regular votes let emissions follow demand instead of habit.",
			"The {asset} pool earned more in fees than it received in emissions last epoch, for the first time.",
			"Two new pools have passed the listing vote and take part for the first time.",
			"Emissions fall by {lower}% each quarter, so the choice matters more every time.",
		},
		steps: []string{
			"Weights are proportional to votes, with a limit of {percent}% a pool.",
			"Pools below 1% receive nothing.",
			"Weights take effect {days} days after the vote ends.",
			"Votes do not carry over to the next epoch.",
		},
		risks: []string{
			"Votes can be rented. Incentives offered to voters are listed in the forum as far as they are known.",
			"A single pool at the limit concentrates liquidity where it may not be needed.",
		},
		choices: []string{
			"{symbol} / wrapped ETH", "Stablecoin pool", "Staked ETH / wrapped ETH", "Wrapped bitcoin / wrapped ETH", "{symbol} / dollar stablecoins",
			"Euro pool", "Treasury bill vault", "{asset} on {chain}", "Restaked ETH pool", "Burn",
		},
	}
}

func providerSelection() family {
	return family{
		tag: "service-provider", category: "Proposals", shape: slate,
		titles: []string{
			"Choose an auditor for {version} of the {contract}",
			"Select a provider of {service} for {quarter} {nextyear}",
			"Which team should maintain the {contract} until {month} {nextyear}?",
			"Who should take care of {service} in {quarter} {year}?",
			"Market makers for {symbol}: selection, {month} {year}",
		},
		summary: []string{
			"Offers were invited in {lastmonth}. The teams below have answered in full, and this vote chooses among them.",
			"We ask the DAO to select who does the work described below for {months} months. All offers are public.",
			"The {council} checked that every team on the list has the capacity and no conflict of interest.",
		},
		motivation: []string{
			"Until now such mandates went to whoever was at hand. An open selection costs {weeks} weeks and is worth it.",
			"The offers differ by a factor of three in price and hardly at all in experience.",
			"{seats} teams answered, more than ever before.",
			"Teams presented their plans in a call; the recording and notes are linked from the forum thread.",
		},
		steps: []string{
			"The team with the most support is engaged on the terms of its offer.",
			"The runner-up is asked if the first cannot begin within {days} days.",
			"The mandate ends after {months} months and is not renewed without a vote.",
			"Payments are tied to the milestones in the offer.",
		},
		risks: []string{
			"The best-known name is not always the best offer.",
			"Some teams hold {symbol} and may vote for themselves.",
		},
	}
}

func translationPoll() family {
	return family{
		tag: "community", category: "General", shape: options,
		titles: []string{
			"Into which language should we translate the {dao} documentation?",
			"{dao} translations in {quarter} {year}: pick a language",
			"Next language for the {dao} interface, {month} {year}",
			"Which language comes next? {dao} poll {epoch}",
		},
		summary: []string{
			"There is money for one translation this quarter. This poll decides which language it is.",
			"Volunteers led by {person} can keep up one more language. We ask the community which one it should be.",
		},
		motivation: []string{
			"Of last month's visitors, {figure} have set their browser to a language that we do not offer.",
			"More than {users} people took part in the last poll of this kind.",
			"A translation is only worth starting if somebody reviews it; for each of the languages below there are two reviewers.",
			"Support requests fell by {percent}% in the regions whose language was added last year.",
		},
		steps: []string{
			"The language with the most support is translated within {weeks} weeks.",
			"{person} coordinates the reviewers.",
			"The remaining languages are put to a vote again next quarter.",
			"Terms of the glossary are discussed in the forum first.",
		},
		risks: []string{
			"Translations fall behind the original. Pages older than {months} months are marked as such.",
			"The poll counts tokens, not readers.",
		},
		choices: []string{"Spanish", "Turkish", "Portuguese", "Vietnamese", "Mandarin"},
	}
}

func namingPoll() family {
	return family{
		tag: "community", category: "General", shape: options,
		titles: []string{
			"Name the receipt token of the {dao} {market}",
			"What should we call a share of the {market} on {chain}?",
			"Receipt token of the {market}: final round, {month} {year}",
			"A name for {dao} deposits in the {market}",
		},
		summary: []string{
			"A light vote between heavier ones: the working group has narrowed the suggestions for the {market} down to four.",
			"All suggestions from the forum thread with at least {seats} likes are on the ballot.",
		},
		motivation: []string{
			"A name that people can remember saves support work for years.",
			"More than {users} people took part in the first round.",
			"Exchanges list tokens by name, and the working title is taken.",
			"The choice has no effect on contracts or balances.",
		},
		steps: []string{
			"The name with the most support is adopted.",
			"{person} updates the documentation within {weeks} weeks.",
			"The old name remains valid in the interface until {nextmonth}.",
			"The {council} checks that nobody else holds the name.",
		},
		risks: []string{
			"Taste differs. Nothing here is final forever.",
			"Similar names exist elsewhere, and users may confuse them.",
		},
		choices: []string{"{dao} Note", "{dao} Receipt", "Vault Share", "v{symbol}", "None of these"},
	}
}

func tokenBurn() family {
	return family{
		tag: "token", category: "Treasury", shape: yesOrNo,
		titles: []string{
			"Burn {cap} {symbol} from the treasury",
			"Burn the unclaimed {symbol} of the first airdrop",
			"Retire {cap} {symbol} that no plan provides for",
			"Reduce the supply of {symbol} by {cap}",
		},
		summary: []string{
			"The treasury holds {cap} {symbol} that no plan provides for. We propose to burn them.",
			"This proposal destroys {cap} {symbol} that were set aside at launch and never used.",
		},
		motivation: []string{
			"Tokens that may or may not be sold one day weigh on every decision of holders.",
			"The reserve was meant for incentives that ended in {lastmonth} without using it up.",
			"A smaller reserve means fewer votes that nobody can explain: it counts towards the supply on which the quorum is computed.",
			"The remaining reserve still covers {months} months of grants.",
		},
		steps: []string{
			"The call data is in the forum thread and was checked by {auditor}.",
			"The burn is executed once and cannot be repeated without another vote.",
			"The quorum, where it is a share of supply, is recomputed.",
			"{team} publishes supply figures before and after.",
		},
		risks: []string{
			"What is burned cannot be used in an emergency.",
			"Markets may react before the vote has ended.",
		},
	}
}

func tokenBuyback() family {
	return family{
		tag: "token", category: "Treasury", shape: yesOrNo,
		titles: []string{
			"Buy back {symbol} with {percent}% of fees",
			"{symbol} buyback, {quarter} {year}",
			"Spend {percent}% of protocol income on {symbol}",
			"Regular {symbol} buybacks for the {program}",
		},
		summary: []string{
			"With {percent}% of fees the DAO buys {symbol} on the market and puts it into the {program}.",
			"We propose to buy {symbol} regularly, in small amounts and by a fixed rule, for as long as the treasury covers {months} months of spending.",
		},
		motivation: []string{
			"The {program} pays its recipients in {symbol}, and its reserve lasts for {weeks} more weeks.",
			"Buying by rule avoids the question of when to buy, which no vote has ever answered well.",
			"Income has been above spending since {lastmonth}.",
			"Holders have asked for a link between the protocol's income and the token.",
		},
		steps: []string{
			"A contract buys once a day, at most {lower}% of the day's volume.",
			"Buying stops while the treasury covers less than {months} months.",
			"The {council} can pause the contract, but not direct it.",
			"Purchases and prices are published as they happen.",
		},
		risks: []string{
			"Money spent on tokens is not there for development.",
			"A predictable buyer can be traded against; the daily limit keeps that unprofitable.",
		},
	}
}
