package routes

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
			Returns: governance.DataStatus{},
			Fresh:   httpcache.Expiring("It states how far followed sources lag, in seconds, and is renewed without a purge."),
		}, handler[statusParams]{tags: statusParams.tags, answer: dataStatus}),
		handle(Route{
			ID: "meta.usage", Path: "/v2/meta/usage", Tier: Free, Addition: true, TokenOnly: true,
			Title:   "Get your token's usage",
			Summary: "What the token that asks may use, and what it has used this month.",
			Returns: usage{}, Account: (*Backend).usage,
		}, handler[noParams]{
			tags: func(noParams) []cache.Tag { return nil },
		}),
	}
}

// pricing answers GET /v2/meta/pricing with the prices of this node, which are never stale.
func (b *Backend) pricing(context.Context, *Request, noParams) (Answer, error) {
	view := cache.View{DataAsOf: governance.TimestampOf(b.Now()), Readiness: governance.Ready}
	return Answer{Data: b.Prices.List(), View: view, NodeLocal: true}, nil
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

// dataStatus answers GET /v2/meta/data-status. Lags grow while nothing is published: what has
// stopped would else be 304 with the lag that it had.
func dataStatus(b *Backend, ctx context.Context, r *Request, p statusParams) (Answer, error) {
	found, err := viewOf(
		func(p statusParams) cache.Key { return cache.DataStatusKey(p.DAOID) },
		func(p statusParams) *apierror.Error {
			if p.DAOID == "" {
				return nil
			}
			return apierror.NotFound("daoId", p.DAOID)
		}, stateLags,
	)(b, ctx, r, p)
	found.ByContent = true
	return found, err
}

// stateLags sets how far sources lag at the time of the answer.
func stateLags(b *Backend, _ statusParams, status *governance.DataStatus) {
	for i := range status.Sources {
		status.Sources[i].SetLag(b.Now())
	}
}
