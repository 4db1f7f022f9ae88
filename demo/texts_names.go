package demo

import "strings"

// words splits a list written with bars between its items.
func words(list string) []string {
	return strings.Split(list, "|")
}

// nouns are the lists from which the slots of the texts are filled, and names are
// made. All of them are invented.
type nouns struct {
	rootHeads, rootTails, kinds             []string
	firstNames, lastNames                   []string
	teamHeads, teamTails, auditorTails      []string
	chains, assets, markets, contracts      []string
	councils, programs, services            []string
	cities, multisigs                       []string
	caps, budgets, currencies, monthsOfYear []string
}

func newNouns() nouns {
	return nouns{
		rootHeads: words("Brack|Tallow|Fern|Quill|Harrow|Marl|Osier|Pell|Sedge|Thorn|Bram|Ember|Loam|Cinder|Drift|Hollow|Lark|Moss|North|Orrin|Pine|Rook|Salt|Tern|Umber|Vale|Hazel|Yarrow|Alder|Birch|Copper|Dun|Elm|Flint|Gale|Heath|Ivor|Juniper|Kell|Linden|Wether|Nettle|Oak|Peat|Ridge|Stone|Tarn|Willow"),
		rootTails: words("water|mere|ford|well|bourne|wick|gate|holm|field|more|haven|combe|reach|lock|stead|fold|bridge|shore|mark|croft|dale|vane|spire|mill|moor|keep|crest|hythe|wood|cross|ward|loft|tide|beck|fall|grove|heart|path|light|thorpe"),
		kinds:     words("Finance|Protocol|Collective|DAO|Network|Exchange|Commons|Markets|Guild|Lending|Labs|Cooperative|Treasury|Works|Union|Credit"),

		firstNames: words("Ines|Tomas|Aroha|Bastian|Chidi|Dagny|Emeka|Farah|Goran|Hana|Ivo|Jelena|Kofi|Liesel|Marek|Noor|Oskar|Priya|Quentin|Rosa|Sefa|Tariq|Ulla|Vikram|Wanda|Ximena|Yusuf|Zora|Anselm|Beatriz|Cormac|Delia|Ewa|Florian|Greta|Hamish|Imani|Joaquin|Katya|Lars"),
		lastNames:  words("Kovar|Ahlberg|Ngata|Reuter|Okafor|Lund|Adeyemi|Haddad|Petrov|Sato|Horvat|Ilic|Mensah|Brandt|Nowak|Rahman|Lindqvist|Menon|Duval|Ferreira|Tuilagi|Aziz|Virtanen|Rao|Zielinska|Morales|Demir|Bianchi|Kessler|Campos|Byrne|Marsh|Wojcik|Steiner|Halvorsen|Fraser|Kamau|Ortega|Orlova|Nyman"),

		teamHeads:    words("Ferrow|Redshank|Moran & Lind|Plover|Tidewrack|Greywether|Sable Row|Oxbow|Fourth Wall|Kittiwake|Halfpenny|Longshore|Bramblecote|Nine Elms|Saltmarsh|Deep Furrow|Windlass|Carrow|Stillwater|Underhill|Lantern|Mossback|Rivet|Candlewick"),
		teamTails:    words("Labs|Research|Risk|Studio|Works|Partners|Collective|Systems|Advisory|Analytics"),
		auditorTails: words("Security|Audits|Verification|Assurance"),

		chains:    words("Calder|Northgate|Tamarack|Skerry|Quillon|Fenwick|Sorrel|Ashlar|Corrie|Larkspur|Stonefly|Marram|Wickham|Thistle|Drumlin|Pennant|Greywacke|Teasel|Lodestar II|Bulrush|Hartsease|Cobalt Rollup|Ember L2|Vantage Rollup|Fieldfare|Ravelin|Gannet|Sandpiper|Holloway|Tidemark|Anvil L2|Pilcrow|Cairngorm|Sextant|Brindle|Marlinspike"),
		assets:    words("wrapped ETH|staked ETH|wrapped bitcoin|euro stablecoins|yen stablecoins|dollar stablecoins|tokenized treasury bills|restaked ETH|tokenized gold|short-dated bond tokens|liquidity tokens|tokenized invoices|carbon credits|franc stablecoins|bridged ETH|savings tokens|synthetic dollars|peso stablecoins|krona stablecoins|tokenized mortgages|staked wrapped bitcoin|mining certificates|warehouse receipts|index tokens|rupee stablecoins|tokenized silver|revenue tokens|prefunded invoices"),
		markets:   words("stablecoin vault|wrapped ETH market|staked ETH vault|isolated credit pool|euro market|long-tail pool|treasury bill vault|wrapped bitcoin market|prime vault|fixed-rate market|invoice pool|reserve vault|savings vault|perpetuals market|insurance pool|yen market|gold vault|credit line|margin market|basis vault|index pool|liquid staking market|payroll vault|trade finance pool|mortgage pool|delta-neutral vault|emerging markets pool|zero-coupon market"),
		contracts: words("Vault Router|Interest Rate Model|Oracle Adapter|Liquidation Engine|Fee Distributor|Governor|Timelock|Staking Module|Rewards Controller|Bridge Escrow|Redemption Queue|Collateral Registry|Auction House|Swap Adapter|Price Router|Access Manager|Debt Ledger|Withdrawal Gate|Keeper Registry|Collateral Vault|Settlement Engine|Emission Scheduler|Vote Escrow|Claim Distributor"),

		councils:  words("Security Council|Grants Council|Risk Council|Treasury Committee|Emergency Committee|Growth Council|Protocol Council|Review Board|Delegate Council|Election Committee|Budget Committee|Upgrade Council|Appeals Council|Ethics Committee|Listing Committee|Operations Council|Research Council|Audit Committee"),
		programs:  words("Grants Program|Builders Program|Education Fund|Research Fellowship|Ecosystem Fund|Public Goods Fund|Ambassador Program|Integrations Program|Tooling Fund|Liquidity Program|Open Source Fund|Regional Program|Mentorship Program|Security Fund|Translation Fund|Data Program|Campus Program|Retention Program|Accelerator|Design Fund"),
		services:  words("front-end maintenance|risk management|data and indexing|treasury operations|protocol development|market monitoring|delegate relations|developer support"),
		cities:    words("Lisbon|Tallinn|Nairobi|Medellin|Taipei|Ghent|Zagreb|Accra|Porto|Bengaluru|Montevideo|Vilnius|Da Nang|Leipzig|Valencia|Tbilisi|Kigali|Zug|Bergen|Oaxaca"),
		multisigs: words("3-of-5|4-of-7|5-of-9|6-of-9|7-of-12"),

		caps:         words("1M|2M|3M|5M|8M|10M|15M|20M|25M|30M|40M|50M|60M|75M|80M|100M|120M|150M|200M|250M"),
		budgets:      words("40,000|60,000|75,000|90,000|120,000|150,000|180,000|200,000|240,000|300,000|350,000|420,000|480,000|600,000|750,000|900,000|1,200,000|1,500,000|2,000,000"),
		currencies:   words("dollar stablecoins|USD|dollars|stablecoins"),
		monthsOfYear: words("January|February|March|April|May|June|July|August|September|October|November|December"),
	}
}
