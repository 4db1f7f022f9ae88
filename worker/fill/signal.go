package fill

import (
	"context"

	"pnyx/cache"
	"pnyx/governance"
	"pnyx/governance/query"
	"pnyx/governance/rules"
)

func (p *page) signals(ctx context.Context, q query.Signals) (cache.View, error) {
	shown, err := p.shownUntil(ctx, q.Scope())
	if err != nil {
		return cache.View{}, err
	}
	asOf := p.head.DataAsOf
	if q.After != nil {
		asOf = 0 // for cursors that say none, which list all deadlines as to come
		if q.After.AsOf != nil {
			asOf = *q.After.AsOf
		}
	}
	rows, err := p.Warehouse.ListSignals(ctx, q, shown, asOf)
	if err != nil {
		return cache.View{}, err
	}
	// The nearest deadline comes first until it has passed.
	if q.Order == query.SignalsByDeadline && q.After == nil && len(rows) > 0 && rows[0].DeadlineAtMs != nil && !rows[0].HasExpired(asOf) {
		p.head.FreshUntil = rows[0].DeadlineAtMs
	}
	names := NewDAONames(p.Store)
	for i := range rows {
		if err := names.Title(ctx, &rows[i]); err != nil {
			return cache.View{}, err
		}
	}
	return cache.NewView(p.head, rows)
}

// Title puts the name of the DAO into the title of a derived signal. It is not stored there:
// DAOs are renamed.
func (n DAONames) Title(ctx context.Context, signal *governance.SignalRow) error {
	if signal.Recorded {
		return nil
	}
	name, err := n.Of(ctx, signal.DAOID)
	signal.Title = rules.SignalTitle(name, signal.Title)
	return err
}
