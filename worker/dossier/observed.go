package dossier

import (
	"slices"
	"strings"
	"unicode"

	"pnyx/governance"
	"pnyx/governance/abi"
	"pnyx/warehouse/record"
)

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

// token returns a token of the table, or what a node showed of it, without a symbol that is of the table or of
// another contract of the DAO, or may look like others.
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

// observe fills in what nodes showed of the actions, and what the DAO's history knows of the addresses.
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
