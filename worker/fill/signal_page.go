package fill

import (
	"context"

	"pnyx/cache"
	"pnyx/governance"
	"pnyx/warehouse"
)

// signals makes a page of the signal list.
func (p pageMaker) signals(ctx context.Context) (cache.View, error) {
	wanted := p.request.Filter
	if wanted.From == nil || wanted.To == nil {
		return cache.View{}, errNoWindow
	}
	shown, err := p.shownUntil(ctx)
	if err != nil {
		return cache.View{}, err
	}
	filter := warehouse.SignalFilter{
		DAOID: wanted.DAOID, Surface: wanted.Surface, From: *wanted.From, To: *wanted.To, Shown: shown,
		Types: wanted.Types, Priority: wanted.Least, Order: p.request.Order,
	}
	if after := p.request.After; after != nil {
		filter.After = &warehouse.SignalPosition{Score: after.Number, At: after.At, ID: after.Key}
	}
	rows, err := p.warehouse.Signals(ctx, filter, p.request.Limit+1)
	if err != nil {
		return cache.View{}, err
	}
	if rows == nil {
		rows = []governance.SignalRow{}
	}
	return cache.NewView(p.head, rows)
}
