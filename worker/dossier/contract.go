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
	decoded, _ := f.decodeBoth()
	return decoded
}

// decodeBoth returns what decode does, and what the actions mean by the table of functions alone.
func (f *Facts) decodeBoth() (decoded, known []abi.Decoded) {
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
		return known, known
	}
	return records.DecodeActions(f.Actions, of), known
}

// OwnCall is an action that only the functions of the DAO's contracts decode.
type OwnCall struct {
	Index     uint32         `json:"index"`
	Function  string         `json:"function"`
	Arguments []abi.Argument `json:"arguments"`
}

// OwnCalls returns the actions that only the functions of the DAO's contracts decode.
func (f *Facts) OwnCalls() (own []OwnCall) {
	if len(f.Contracts) == 0 {
		return nil
	}
	decoded, known := f.decodeBoth()
	for i, d := range decoded {
		if d.Function != "" && known[i].Function == "" {
			own = append(own, OwnCall{f.Actions[i].Index, d.Function, append([]abi.Argument{}, d.Arguments...)})
		}
	}
	return own
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

// address returns an address with what is known of it.
func (f *Facts) address(chain, address string) governance.DossierAddress {
	of := governance.DossierAddress{Address: address, Name: f.nameOf(chain, address)}
	if seen := f.observedAt(chain, address); seen != nil && seen.Contract != nil {
		of.Contract, of.Proxy = seen.Contract, new(seen.Implementation != "")
	}
	return of
}
