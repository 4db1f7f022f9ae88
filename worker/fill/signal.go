package fill

import (
	"context"

	"pnyx/cache"
	"pnyx/governance/query"
)

func (p *page) signals(ctx context.Context, q query.Signals) (cache.View, error) {
	shown, err := p.shownUntil(ctx, q.Scope())
	if err != nil {
		return cache.View{}, err
	}
	rows, err := p.Warehouse.ListSignals(ctx, q, shown)
	if err != nil {
		return cache.View{}, err
	}
	return cache.NewView(p.head, rows)
}
