package records

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"pnyx/governance"
	"pnyx/warehouse"
	"pnyx/warehouse/record"
)

// DelegationScopes says which DAOs use which tokens and spaces of registries.
type DelegationScopes struct {
	// ByDAO has the tokens and spaces by DAO, OfSource the token of a Governor.
	ByDAO    map[string][]string
	OfSource map[record.SourceRef]string
	// DAOs is the reverse of ByDAO.
	DAOs map[string][]string
	// Counted are the scopes of which delegations are held.
	Counted []string
}

// ReadDelegationScopes reads which DAOs use which tokens and spaces. A Governor has its token, and a
// space its name in every registry; a DAO adds tokens that it declares.
func ReadDelegationScopes(ctx context.Context, w *warehouse.Warehouse) (DelegationScopes, error) {
	type row struct {
		About, Provider, SourceID, Scope string
		DAOID                            string
	}
	rows, err := warehouse.Find[row](ctx, w, "read which DAOs use which tokens", sqlText("delegation_scope"))
	if err != nil {
		return DelegationScopes{}, err
	}
	s := DelegationScopes{ByDAO: map[string][]string{}, OfSource: map[record.SourceRef]string{}, DAOs: map[string][]string{}}
	owners := map[record.SourceRef]string{}
	for _, r := range rows {
		source := record.SourceRef{Provider: governance.Provider(r.Provider), ID: r.SourceID}
		switch r.About {
		case "token":
			s.add(r.DAOID, r.Scope)
		case "source":
			owners[source] = r.DAOID
		case "unclaimed source":
			owners[source] = cmp.Or(owners[source], r.DAOID)
		case "source token":
			s.OfSource[source] = r.Scope
		case "delegations":
			s.Counted = append(s.Counted, r.Scope)
		}
	}
	for source, token := range s.OfSource {
		s.add(owners[source], token)
	}
	for _, scope := range s.Counted {
		if _, space, is := strings.Cut(scope, "/"); is {
			s.add(owners[record.SourceRef{Provider: governance.Snapshot, ID: space}], scope)
		}
	}
	for _, all := range []map[string][]string{s.ByDAO, s.DAOs} {
		for _, of := range all {
			slices.Sort(of)
		}
	}
	return s, nil
}

func (s *DelegationScopes) add(daoID, scope string) {
	if daoID == "" || slices.Contains(s.ByDAO[daoID], scope) {
		return
	}
	s.ByDAO[daoID] = append(s.ByDAO[daoID], scope)
	s.DAOs[scope] = append(s.DAOs[scope], daoID)
}
