package fill

import (
	"context"
	"slices"

	"pnyx/cache"
	"pnyx/governance"
	"pnyx/governance/query"
	"pnyx/governance/rules"
	"pnyx/warehouse"
	"pnyx/warehouse/feed"
	"pnyx/warehouse/records"
)

func (p *page) signals(ctx context.Context, q query.Signals) (any, error) {
	shown, err := p.shownUntil(ctx, q.Scope())
	if err != nil {
		return nil, err
	}
	asOf := p.head.DataAsOf
	if q.After != nil {
		asOf = 0 // for cursors that say none, which list all deadlines as to come
		if q.After.AsOf != nil {
			asOf = *q.After.AsOf
		}
	}
	rows, err := feed.ListSignals(ctx, p.Warehouse, q, shown, asOf)
	if err != nil {
		return nil, err
	}
	// The nearest deadline comes first until it has passed.
	if q.Order == query.SignalsByDeadline && q.After == nil && len(rows) > 0 && rows[0].DeadlineAtMs != nil && !rows[0].HasExpired(asOf) {
		p.head.FreshUntil = rows[0].DeadlineAtMs
	}
	places := make([]*governance.SignalRow, len(rows))
	for i := range rows {
		places[i] = &rows[i]
	}
	return rows, NameSignals(ctx, p.Store, p.Warehouse, places)
}

// NameSignals puts names of DAOs and voters, which change, into texts of derived signals. A name that may look like
// another is left out: the text has no room to say so.
func NameSignals(ctx context.Context, store *cache.Store, w *warehouse.Warehouse, signals []*governance.SignalRow) error {
	daos, voters := NewDAONames(store), make([]string, len(signals))
	for i, signal := range signals {
		voters[i] = rules.SignalVoter(signal.Signal)
	}
	named := slices.DeleteFunc(slices.Clone(voters), func(voter string) bool { return voter == "" })
	names, err := records.VoterNames(ctx, w, named)
	if err != nil {
		return err
	}
	for i, signal := range signals {
		if signal.Recorded {
			continue
		}
		if name := names[voters[i]]; name != nil && !name.Suspect {
			signal.Title = rules.NameVoter(signal.Title, voters[i], *name)
			signal.Summary = rules.NameVoter(signal.Summary, voters[i], *name)
		}
		dao, err := daos.Of(ctx, signal.DAOID)
		if err != nil {
			return err
		}
		signal.Title = rules.SignalTitle(dao, signal.Title)
	}
	return nil
}
