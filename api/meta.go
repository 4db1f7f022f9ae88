package api

import (
	"context"

	"pnyx/api/apierror"
	"pnyx/api/httpcache"
	"pnyx/cache"
	"pnyx/governance"
)

// PathPricing is where prices are listed; a 402 refers to it.
const PathPricing = "/v2/meta/pricing"

// metaRoutes are about the service and its data as a whole.
func metaRoutes() []Route {
	return []Route{
		handle(Route{
			ID: "meta.pricing", Path: PathPricing, Tier: Free,
			Title:   "Get prices",
			Summary: "What every route costs at the moment.",
			Returns: governance.Pricing{}, Fresh: httpcache.Pricing(),
		}, handler[noParams]{
			tags:   func(noParams) []cache.Tag { return []cache.Tag{cache.PricingTag} },
			answer: (*Backend).pricing,
		}),
		handle(Route{
			ID: "meta.data-status", Path: "/v2/meta/data-status", Tier: Free,
			Title:   "Get the state of the data",
			Summary: "How fresh and how complete the data is, as a whole or of one DAO.",
			Returns: governance.DataStatus{}, Fresh: httpcache.Status(),
		}, handler[statusParams]{tags: statusParams.tags, answer: (*Backend).dataStatus}),
		handle(Route{
			ID: "meta.usage", Path: "/v2/meta/usage", Tier: Free, Addition: true, TokenOnly: true,
			Title:   "Get your token's usage",
			Summary: "What the token that asks may use, and what it has used this month.",
			Returns: usage{}, account: (*Backend).usage,
		}, handler[noParams]{
			tags: func(noParams) []cache.Tag { return nil },
		}),
	}
}

// pricing answers GET /v2/meta/pricing with the prices of this node, which are never
// stale.
func (b *Backend) pricing(context.Context, *request, noParams) (answer, error) {
	view := cache.View{DataAsOf: governance.TimestampOf(b.now()), Readiness: governance.Ready}
	return answer{data: b.prices.List(), view: view, nodeLocal: true}, nil
}

// statusParams are the parameters of GET /v2/meta/data-status.
type statusParams struct {
	// DAOID is the id of the DAO; empty for all of them.
	DAOID string `param:"daoId" exists:"true" doc:"The DAO to ask about; all of them when left out." example:"uniswap"`
}

func (p statusParams) tags() []cache.Tag {
	if p.DAOID == "" {
		return []cache.Tag{cache.StatusTag}
	}
	return []cache.Tag{cache.DAOTag(p.DAOID)}
}

// dataStatus answers GET /v2/meta/data-status.
func (b *Backend) dataStatus(ctx context.Context, _ *request, p statusParams) (answer, error) {
	var status governance.DataStatus
	view, err := b.view(ctx, cache.DataStatusKey(p.DAOID), &status, apierror.NotFound("daoId", p.DAOID))
	for i := range status.Sources {
		status.Sources[i].SetLag(b.now())
	}
	return answer{data: status, view: view, source: httpcache.SourceRedis}, err
}
