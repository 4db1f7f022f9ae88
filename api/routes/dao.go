package routes

import (
	"cmp"
	"context"
	"errors"

	"pnyx/api/httpcache"
	"pnyx/cache"
	"pnyx/governance"
	"pnyx/governance/query"
)

func daoRoutes() []Route {
	return []Route{
		handle(Route{
			ID: "daos.list", Path: "/v2/daos", Tier: governance.Free,
			Title:   "List DAOs",
			Summary: "The DAOs, in order of their ids.",
			Returns: []governance.DAOListItem{}, Fresh: httpcache.Published(), tag: cache.DAOIndexTag,
		}, (*Backend).listDAOs),
		handle(Route{
			ID: "daos.detail", Path: "/v2/daos/:daoId", Tier: governance.Free,
			Title:   "Get a DAO",
			Summary: "One DAO: its proposals by state and outcome, and participation.",
			Returns: governance.DAODetail{}, Fresh: httpcache.Published(),
		}, (*Backend).daoDetail),
	}
}

type daoParams struct {
	DAOID string `param:"daoId" in:"path" doc:"The DAO." example:"uniswap"`
}

func (b *Backend) daoDetail(ctx context.Context, r *Request, p daoParams) (Answer, error) {
	var detail governance.DAODetail
	view, err := b.view(ctx, cache.DAODetailKey(p.DAOID), &detail, r.missing())
	if err != nil {
		return Answer{}, err
	}
	// The state of sources is published more often than the rest, perhaps between the two reads.
	var status governance.DataStatus
	unstated := r.missing() // by an earlier version
	switch sources, err := b.view(ctx, cache.DataStatusKey(p.DAOID), &status, unstated); {
	case err == nil:
		view.Revision = max(view.Revision, sources.Revision)
	case !errors.Is(err, unstated):
		return Answer{}, err
	}
	for _, source := range status.Sources {
		detail.Sources = append(detail.Sources, source.Freshness())
	}
	return Answer{Data: detail, View: view, Source: httpcache.SourceRedis, ByContent: true}, err
}

func (b *Backend) listDAOs(ctx context.Context, r *Request, q query.DAOs) (Answer, error) {
	cursors, err := b.openCursor(ctx, r, &q.After)
	if err != nil {
		return Answer{}, err
	}
	listed, err := b.daoPage(ctx, q)
	if err != nil {
		return Answer{}, b.unavailable(ctx, err)
	}
	return cutPage(r, cursors, q.Limit, listed.Items, q.PositionOf, Answer{View: listed.View, Source: httpcache.SourceRedis})
}

// daoPage reads a page of the DAO index as one publication wrote it, and again when one came in between: after a
// flush of Redis, the index lacks DAOs until it is complete. Without an index, the warehouse has no DAO.
func (b *Backend) daoPage(ctx context.Context, q query.DAOs) (cache.DAOIndexPage, error) {
	const daoPageTries = 3 // how often a page is read when publications come in between
	before, err := b.Store.PublicationState(ctx)
	for range daoPageTries {
		if err != nil {
			return cache.DAOIndexPage{}, err
		}
		listed, failed := b.Store.DAOPage(ctx, q)
		var now cache.PublicationState
		now, err = b.Store.PublicationState(ctx)
		switch {
		case err != nil || now.Revision != before.Revision:
			before = now
		case errors.Is(failed, cache.ErrMiss):
			return emptyIndex(now), nil
		default:
			return listed, failed
		}
	}
	return cache.DAOIndexPage{}, cmp.Or(err, errors.New("the DAO index changed during every read"))
}

func emptyIndex(published cache.PublicationState) cache.DAOIndexPage {
	return cache.DAOIndexPage{
		View: cache.View{
			Revision: published.Revision, Readiness: governance.Ready,
			DataAsOf: governance.Timestamp(published.CommittedThrough / 1000),
		},
		Items: []governance.DAOListItem{},
	}
}
