package dossier

import (
	"slices"
	"strings"

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

// otherMeanings returns what actions mean that was stored otherwise, before the DAO's contracts or newer functions
// were known.
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
