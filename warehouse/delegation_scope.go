package warehouse

import (
	"context"
	"slices"
	"strings"

	"pnyx/governance"
	"pnyx/warehouse/record"
)

// delegationScopes says which DAOs use which tokens and spaces of registries.
type delegationScopes struct {
	// byDAO has the tokens and spaces by DAO, ofSource the token of a Governor.
	byDAO    map[string][]string
	ofSource map[record.SourceRef]string
	// daos is the reverse of byDAO.
	daos map[string][]string
	// counted are the scopes of which delegations are held.
	counted []string
}

// delegationScopesNow reads which DAOs use which tokens and spaces. A Governor has its token, and a
// space its name in every registry; a DAO adds tokens that it declares.
func (w *Warehouse) delegationScopesNow(ctx context.Context) (delegationScopes, error) {
	type row struct {
		About, Provider, SourceID, Scope string
		DAOID                            string
	}
	rows, err := find[row](ctx, w, "read which DAOs use which tokens", sqlText("delegate_scopes"))
	if err != nil {
		return delegationScopes{}, err
	}
	s := delegationScopes{byDAO: map[string][]string{}, ofSource: map[record.SourceRef]string{}, daos: map[string][]string{}}
	owners := map[record.SourceRef]string{}
	for _, r := range rows {
		source := record.SourceRef{Provider: governance.Provider(r.Provider), ID: r.SourceID}
		switch r.About {
		case "token":
			s.add(r.DAOID, r.Scope)
		case "source":
			owners[source] = r.DAOID
		case "source token":
			s.ofSource[source] = r.Scope
		case "delegations":
			s.counted = append(s.counted, r.Scope)
		}
	}
	for source, token := range s.ofSource {
		s.add(owners[source], token)
	}
	for _, scope := range s.counted {
		if _, space, is := strings.Cut(scope, "/"); is {
			s.add(owners[record.SourceRef{Provider: governance.Snapshot, ID: space}], scope)
		}
	}
	for _, all := range []map[string][]string{s.byDAO, s.daos} {
		for _, of := range all {
			slices.Sort(of)
		}
	}
	return s, nil
}

func (s *delegationScopes) add(daoID, scope string) {
	if daoID == "" || slices.Contains(s.byDAO[daoID], scope) {
		return
	}
	s.byDAO[daoID] = append(s.byDAO[daoID], scope)
	s.daos[scope] = append(s.daos[scope], daoID)
}
