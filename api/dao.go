package api

import (
	"cmp"
	"context"
	"errors"

	"pnyx/cache"
	"pnyx/governance"
	"pnyx/governance/query"
)

// daoRoutes are about DAOs.
func daoRoutes() []Route {
	return []Route{
		handle(Route{
			ID: "daos.list", Path: "/v2/daos", Tier: Free,
			Title:   "List DAOs",
			Summary: "The DAOs, in order of their ids.",
			Returns: []governance.DAOListItem{}, Fresh: publishedFreshness(),
		}, handler[query.DAOs]{
			tags:   func(query.DAOs) []cache.Tag { return []cache.Tag{cache.DAOIndexTag} },
			answer: (*API).listDAOs,
		}),
		handle(Route{
			ID: "daos.detail", Path: "/v2/daos/:daoId", Tier: Free,
			Title:   "Get a DAO",
			Summary: "One DAO: its proposals by state and outcome, and participation.",
			Returns: governance.DAODetail{}, Fresh: publishedFreshness(),
		}, handler[daoParams]{tags: daoParams.tags, answer: (*API).daoDetail}),
	}
}

// daoParams are the parameters of routes about one DAO.
type daoParams struct {
	// DAOID is the id of the DAO.
	DAOID string `param:"daoId" in:"path" doc:"The DAO." example:"uniswap"`
}

func (p daoParams) tags() []cache.Tag { return []cache.Tag{cache.DAOTag(p.DAOID)} }

// daoDetail answers GET /v2/daos/:daoId.
func (a *API) daoDetail(ctx context.Context, _ *request, p daoParams) (answer, error) {
	var detail governance.DAODetail
	view, err := a.view(ctx, cache.DAODetailKey(p.DAOID), &detail, notFound("daoId", p.DAOID))
	if err != nil {
		return answer{}, err
	}
	// How following goes is published more often than what the DAO's records add up to.
	var status governance.DataStatus
	unstated := notFound("daoId", p.DAOID) // by an earlier version
	switch sources, err := a.view(ctx, cache.DataStatusKey(p.DAOID), &status, unstated); {
	case err == nil:
		view.Revision = max(view.Revision, sources.Revision)
	case !errors.Is(err, unstated):
		return answer{}, err
	}
	for _, source := range status.Sources {
		detail.Sources = append(detail.Sources, source.Freshness())
	}
	return answer{data: detail, view: view, source: sourceRedis}, err
}

// listDAOs answers GET /v2/daos.
func (a *API) listDAOs(ctx context.Context, r *request, q query.DAOs) (answer, error) {
	cursors, err := a.openCursor(ctx, r, &q.After)
	if err != nil {
		return answer{}, err
	}
	listed, err := a.daoPage(ctx, q)
	if err != nil {
		return answer{}, unavailable(err)
	}
	return cutPage(r, cursors, q.Limit, listed.Items, q.PositionOf, answer{view: listed.View, source: sourceRedis})
}

// daoPageTries is how often a page is read when publications come in between.
const daoPageTries = 3

// daoPage reads a page of the DAO index as one publication wrote it. It reads again when
// a publication came in between: after a flush of Redis, the index lacks DAOs until it is
// complete. When something is published but no index, the warehouse has no DAO.
func (a *API) daoPage(ctx context.Context, q query.DAOs) (cache.DAOIndexPage, error) {
	before, err := a.store.PublicationState(ctx)
	for range daoPageTries {
		if err != nil {
			return cache.DAOIndexPage{}, err
		}
		listed, failed := a.store.DAOPage(ctx, q)
		var now cache.PublicationState
		now, err = a.store.PublicationState(ctx)
		switch {
		case err != nil || now.Revision != before.Revision:
			before = now
		case errors.Is(failed, cache.ErrMiss):
			return emptyIndex(now), nil
		default:
			return listed, failed
		}
	}
	return cache.DAOIndexPage{}, cmp.Or(err, errUnsettled)
}

// errUnsettled reports that a publication came in between at every try.
var errUnsettled = errors.New("the DAO index changed during every read")

func emptyIndex(published cache.PublicationState) cache.DAOIndexPage {
	return cache.DAOIndexPage{
		View: cache.View{
			Revision: published.Revision, Readiness: governance.Ready,
			DataAsOf: governance.Timestamp(published.CommittedThrough / 1000),
		},
		Items: []governance.DAOListItem{},
	}
}
