package dossier

import (
	"slices"
	"strings"
	"unicode"

	"pnyx/governance"
	"pnyx/governance/abi"
	"pnyx/warehouse/record"
	"pnyx/warehouse/records"
)

// decode returns what the actions mean, also by the functions of the DAO's contracts that they call.
func (f *Facts) decode() []abi.Decoded {
	known, called := records.DecodeActions(f.Actions, nil), map[string]bool{}
	for i := range known {
		known[i].Visit(func(d *abi.Decoded) { called[d.Chain+":"+d.Target] = true })
	}
	of := abi.Interfaces{}
	for _, c := range f.Contracts {
		if called[c.ID] { // reading all signatures takes longer than all else
			_ = of.Add(c.ID, c.Functions...) // records have signatures alone
		}
	}
	if len(of) == 0 {
		return known
	}
	return records.DecodeActions(f.Actions, of)
}

// otherMeanings returns meanings that differ from the stored ones: other functions decode the actions now.
func (f *Facts) otherMeanings(decoded []abi.Decoded, stored []records.Meaning) (other []records.Meaning) {
	for i := range decoded {
		m := records.MeaningOf(f.Actions[i].Index, &decoded[i])
		isSame := func(s records.Meaning) bool {
			return s.Index == m.Index && s.Kind == m.Kind && s.Function == m.Function && s.InnerCalls == m.InnerCalls && s.Undecoded == m.Undecoded
		}
		if !slices.ContainsFunc(stored, isSame) {
			other = append(other, m)
		}
	}
	return other
}

// isTaken reports whether a token that calls itself so may pass for another contract of the DAO.
func (f *Facts) isTaken(symbol, id string) bool {
	return strings.EqualFold(symbol, nameGovernor) || strings.EqualFold(symbol, nameTimelock) || slices.ContainsFunc(f.Contracts, func(c record.Contract) bool {
		return c.ID != id && strings.EqualFold(c.Name, symbol)
	})
}

// What contracts of a DAO are called for what they are in it.
const (
	nameGovernor = "Governor"
	nameTimelock = "Timelock"
)

// nameOf returns what an address is called: by the DAO, by the token itself, or for what it is in the DAO; nil if that is unknown.
func (f *Facts) nameOf(chain, address string) *string {
	id := chain + ":" + address
	for _, named := range f.Contracts {
		if named.ID == id {
			return &named.Name
		}
	}
	if token, is := f.token(chain, address); is && token.Symbol != "" {
		return &token.Symbol
	}
	switch {
	case strings.HasPrefix(f.Proposal.OnchainID, id+"/"):
		return new(nameGovernor)
	case f.isExecutor(chain, address):
		return new(nameTimelock)
	case f.Proposal.VotingToken == id:
		return new("Voting token")
	}
	return nil
}

func (f *Facts) address(chain, address string) governance.DossierAddress {
	of := governance.DossierAddress{Address: address, Name: f.nameOf(chain, address)}
	if seen := f.observedAt(chain, address); seen != nil && seen.Contract != nil {
		of.Contract, of.Proxy = seen.Contract, new(seen.Implementation != "")
	}
	return of
}

// chain is the chain of the Governor, eip155:<chain>.
func (f *Facts) chain() string {
	id, _, _ := strings.Cut(strings.TrimPrefix(f.Proposal.OnchainID, "eip155:"), ":")
	return "eip155:" + id
}

// observedAt returns what a node showed of an address on the chain of the Governor; nil for nothing.
func (f *Facts) observedAt(chain, address string) *record.ObservedAddress {
	if f.Observed == nil || !strings.HasPrefix(f.Proposal.OnchainID, chain+":") {
		return nil
	}
	at := slices.IndexFunc(f.Observed.Addresses, func(a record.ObservedAddress) bool { return a.Address == address })
	if at < 0 {
		return nil
	}
	return &f.Observed.Addresses[at]
}

// token returns a token of the table, or what a node showed of it. A token has no symbol if it calls itself
// like one of the table or another contract of the DAO, or with letters that may look like others.
func (f *Facts) token(chain, address string) (abi.Token, bool) {
	if token, is := abi.TokenAt(chain, address); is {
		return token, true
	}
	seen := f.observedAt(chain, address)
	if seen == nil || seen.Decimals == nil {
		return abi.Token{}, false
	}
	token := abi.Token{Symbol: seen.Symbol, Decimals: int(*seen.Decimals)}
	isForeign := func(r rune) bool { return r > unicode.MaxASCII && !unicode.IsSymbol(r) }
	if abi.IsKnownSymbol(token.Symbol) || strings.ContainsFunc(token.Symbol, isForeign) || f.isTaken(token.Symbol, chain+":"+address) {
		token.Symbol = ""
	}
	return token, true
}

func (c *composer) observe() {
	if len(c.d.Actions) == 0 {
		return
	}
	if o := c.Observed; o != nil {
		c.d.Simulation, c.d.EarlierSimulation = o.Simulation, o.Earlier
	}
	if s := c.d.Simulation; s == nil || s.Result == governance.SimulationUnavailable || s.Result == governance.SimulationUnknown {
		why := "no simulation is stored"
		if s != nil && s.Reason != nil {
			why = *s.Reason
		}
		c.unknown("state", "whether the calls succeed: "+why, "a call that fails executes nothing", "a simulation of the calls at the newest block")
	}
	isUnknown := false
	for _, p := range abi.Parties(c.decoded) {
		of := governance.DossierParty{
			Chain: governance.OptionalText(p.Chain), DossierAddress: c.address(p.Chain, p.Address), Ballots: governance.CountOf(c.Histories[p.Address].Ballots),
			Proposals: governance.CountOf(c.Histories[p.Address].Proposals),
		}
		if seen := c.observedAt(p.Chain, p.Address); seen != nil {
			of.Implementation, of.Block = governance.OptionalText(seen.Implementation), new(governance.CountOf(seen.Block))
		}
		if by, is := c.before.paid[[2]string{p.Chain, p.Address}]; is {
			of.PaidBy = &by
		}
		if of.PaidBy == nil && p.Paid && c.Histories != nil && c.Histories[p.Address] == (AddressHistory{}) && of.Contract != nil && !*of.Contract {
			c.strangers = append(c.strangers, len(c.d.Addresses))
		}
		isUnknown = isUnknown || of.Contract == nil
		c.d.Addresses = append(c.d.Addresses, of)
	}
	if isUnknown {
		c.unknown("identity", "which addresses are contracts or proxies", "money sent to an address without code cannot be taken back",
			"the addresses on a block explorer")
	}
}
