package fill

import (
	"context"
	"errors"

	"pnyx/cache"
	"pnyx/governance"
	"pnyx/warehouse"
)

// topics makes a page of the topic list. Where there is no mark nothing was ever
// published of the DAO, and the first that is will move it.
func (p pageMaker) topics(ctx context.Context) (cache.View, error) {
	mark, err := p.store.Version(ctx, cache.TopicPage, p.request.Filter.DAOID)
	if err != nil && !errors.Is(err, cache.ErrMiss) {
		return cache.View{}, err
	}
	rows, err := p.warehouse.TopicPage(ctx, topicOrder(p.request.Order), p.topicFilter(), p.request.Limit+1)
	if err != nil {
		return cache.View{}, err
	}
	p.head.Revision = mark.Revision
	return cache.NewView(p.head, rows)
}

func topicOrder(name string) warehouse.TopicOrder {
	switch name {
	case governance.SortCreated:
		return warehouse.TopicsByCreation
	case governance.SortReplies:
		return warehouse.TopicsByReplies
	}
	return warehouse.TopicsByUpdate
}

func (p pageMaker) topicFilter() warehouse.TopicFilter {
	wanted := p.request.Filter
	filter := warehouse.TopicFilter{
		DAOID: wanted.DAOID, Provider: wanted.Provider, Related: wanted.Related,
		UpdatedFrom: wanted.From, UpdatedTo: wanted.To, MinReplies: uint64(max(wanted.Least, 0)),
	}
	after := p.request.After
	if after == nil {
		return filter
	}
	filter.After = &warehouse.TopicPosition{Place: after.Number, Key: governance.TopicKey(after.Key)}
	if p.request.Order != governance.SortReplies {
		filter.After.Place = -1
		if after.At != nil {
			filter.After.Place = int64(*after.At)
		}
	}
	return filter
}
