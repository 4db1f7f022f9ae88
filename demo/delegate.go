package demo

// delegatesPerToken is the number of delegates of a token; the first has most delegators and power.
const delegatesPerToken = 12

// delegationLine is a canonical line of delegations.ndjson.gz: to whom a holder delegates, the power of a
// delegate, or the supply of a token.
type delegationLine struct {
	Record    string `json:"record"`
	Version   int    `json:"version"`
	Token     string `json:"token"`
	Delegator string `json:"delegator,omitempty"`
	Delegate  string `json:"delegate,omitempty"`
	Power     string `json:"votingPower,omitempty"`
	Supply    string `json:"supply,omitempty"`
	Block     uint64 `json:"block"`
	LogIndex  uint32 `json:"logIndex"`
	At        string `json:"at"`
}

// nameLine is a canonical line of the name of a voter.
type nameLine struct {
	Record  string `json:"record"`
	Version int    `json:"version"`
	Voter   string `json:"voter"`
	Name    string `json:"name"`
	Source  string `json:"source"`
}

// demoNames are the names of the first delegates of each token; the last is one that imitates the first.
func demoNames() []string {
	return []string{"Ada Harbor", "lighthouse", "Mira", "quorum.club", "Ola Nord", "Ad\u0430 Harbor"}
}

// token returns the id of the token of a DAO that votes on chain.
func (d *dao) token() string {
	return "eip155:1:" + addressOf(deriveKey(d.key, streamContract), 7).lower()
}

// writeDelegations writes the delegations of the token of a DAO that votes on chain: members of the first
// ranks, who vote most, are the delegates of others and of themselves.
func (g *generator) writeDelegations(d *dao) {
	if d.organization == "" || d.unlisted {
		return
	}
	const firstBlock, blockTime = 19_000_000, 12
	began := g.now - d.age
	voter := func(rank int) string {
		return addressOf(deriveKey(g.options.Seed, streamVoter), d.member(unsigned(rank))).lower()
	}
	index := uint32(0)
	write := func(line delegationLine) {
		index++
		line.Version, line.Token, line.LogIndex = 1, d.token(), index
		at := began + int64(index)*hour
		line.At, line.Block = *formatTime(at), firstBlock+unsigned(int(at-began)/blockTime)
		g.delegations.write(line)
	}
	for rank, name := range demoNames() {
		line := nameLine{"name", 1, voter(rank), name, "sources"}
		if rank%2 > 0 {
			line.Source = "snapshot"
		}
		g.delegations.write(line)
	}
	var supply amount
	holder := delegatesPerToken
	for rank := range delegatesPerToken {
		var power amount
		for held := range 1 + 2*(delegatesPerToken-rank) {
			delegator := rank
			if held > 0 {
				delegator, holder = holder, holder+1
			}
			write(delegationLine{Record: "delegation", Delegator: voter(delegator), Delegate: voter(rank)})
			power = power.plus(amount{whole: unsigned(1000 * (delegatesPerToken - rank)), baseUnits: unsigned(held)})
			write(delegationLine{Record: "delegate_power", Delegate: voter(rank), Power: power.String()})
		}
		supply = supply.plus(power)
	}
	write(delegationLine{Record: "token_supply", Supply: supply.plus(supply).String()})
}
