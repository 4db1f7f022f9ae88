package dossier

import (
	"bytes"
	"encoding/hex"
	"slices"
	"strings"

	"pnyx/governance"
	"pnyx/governance/abi"
	"pnyx/warehouse/record"
	"pnyx/warehouse/records"
)

// decode returns what the actions mean, also by the functions of the DAO's contracts.
func (f *Facts) decode() []abi.Decoded {
	of := abi.Interfaces{}
	for _, c := range f.Contracts {
		if f.names(c.ID) { // reading all signatures takes longer than all else
			_ = of.Add(c.ID, c.Functions...) // records have signatures alone
		}
	}
	return records.DecodeActions(f.Actions, of)
}

// names reports whether an action is for a contract, or has its address in what it sends.
func (f *Facts) names(contract string) bool {
	address := contract[strings.LastIndexByte(contract, ':')+1:]
	inside, err := hex.DecodeString(strings.TrimPrefix(address, "0x"))
	return err == nil && slices.ContainsFunc(f.Actions, func(a record.Action) bool {
		return strings.EqualFold(a.Target, address) || bytes.Contains(a.Calldata, inside)
	})
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
