package fill

import (
	"context"

	"pnyx/cache"
	"pnyx/governance/query"
)

// topics builds a page of the topic list. A scope without a version has had nothing
// published yet: the first publication of it sets one, which makes this page stale.
func (p *page) topics(ctx context.Context, q query.Topics) (cache.View, error) {
	version, _, err := p.version(ctx, q.Scope())
	if err != nil {
		return cache.View{}, err
	}
	rows, err := p.warehouse.ListTopics(ctx, q)
	if err != nil {
		return cache.View{}, err
	}
	p.head.Revision = version.Revision
	return cache.NewView(p.head, rows)
}
