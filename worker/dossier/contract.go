package dossier

import (
	"strings"

	"pnyx/governance"
	"pnyx/governance/abi"
	"pnyx/warehouse/records"
)

// decode returns what the actions mean, also by the functions of the DAO's contracts.
func (f *Facts) decode() []abi.Decoded {
	of := abi.Interfaces{}
	for _, c := range f.Contracts {
		_ = of.Add(c.ID, c.Functions...) // records have signatures alone
	}
	return records.DecodeActions(f.Actions, of)
}

// nameOf returns what an address is called: by the DAO, by the token itself, or for what it is in the DAO; nil if that is unknown.
func (c *composer) nameOf(chain, address string) *string {
	id := chain + ":" + address
	for _, named := range c.Contracts {
		if named.ID == id {
			return &named.Name
		}
	}
	if token, is := c.token(chain, address); is && token.Symbol != "" {
		return &token.Symbol
	}
	switch {
	case strings.HasPrefix(c.Proposal.OnchainID, id+"/"):
		return new("Governor")
	case c.isExecutor(chain, address):
		return new("Timelock")
	case c.Proposal.VotingToken == id:
		return new("Voting token")
	}
	return nil
}

// address returns an address with what is known of it.
func (c *composer) address(chain, address string) governance.DossierAddress {
	of := governance.DossierAddress{Address: address, Name: c.nameOf(chain, address)}
	if seen := c.observedAt(chain, address); seen != nil && seen.Contract != nil {
		of.Contract, of.Proxy = seen.Contract, new(seen.Implementation != "")
	}
	return of
}
