package fill

import (
	"cmp"
	"context"
	"errors"
	"strings"

	"pnyx/cache"
	"pnyx/governance"
	"pnyx/governance/query"
	"pnyx/warehouse"
	"pnyx/warehouse/records"
)

// shown is the place of a name beside an identity.
type shown struct {
	identity string
	name     **governance.VoterName
}

// setNames sets names beside identities. A publication of names makes the pages stale that show them.
func (p *page) setNames(ctx context.Context, places []shown) error {
	version, err := p.Store.Version(ctx, cache.Names())
	if err != nil && !errors.Is(err, cache.ErrMiss) {
		return err
	}
	voters := warehouse.Values(places, func(at shown) string { return at.identity })
	names, err := warehouse.Share(ctx, p.Warehouse, "names", wantedNames{version.Revision, voters}, p.names.read)
	for _, at := range places {
		*at.name = names[at.identity]
	}
	return err
}

func nameRows[Row any](ctx context.Context, p *page, rows []Row, places func(*Row) []shown) error {
	var all []shown
	for i := range rows {
		all = append(all, places(&rows[i])...)
	}
	return p.setNames(ctx, all)
}

// byName builds the page of a voter who may be given by a verified name. An identity that is held wins.
func byName[Query any](
	read func(*page, context.Context, Query) (any, error), voter func(*Query) *query.Voter,
) func(*page, context.Context, Query) (any, error) {
	return func(p *page, ctx context.Context, q Query) (any, error) {
		payload, err := read(p, ctx, q)
		name := string(*voter(&q))
		if !errors.Is(err, errAbsent) || !strings.Contains(name, ".") {
			return payload, err
		}
		identity, err := records.VoterNamed(ctx, p.Warehouse, name)
		if err != nil || identity == "" {
			return nil, cmp.Or(err, errAbsent)
		}
		*voter(&q) = query.Voter(identity)
		return read(p, ctx, q)
	}
}
