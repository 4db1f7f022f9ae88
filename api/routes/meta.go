package routes

import (
	"cmp"
	"context"
	"net/http"
	"strconv"

	"pnyx/api/httpcache"
	"pnyx/cache"
	"pnyx/governance"
	"pnyx/ratelimit"
)

// PathPricing is where prices are listed; a 402 refers to it.
const PathPricing = "/v2/meta/pricing"

func metaRoutes() []Route {
	return []Route{
		handle(Route{
			ID: "meta.pricing", Path: PathPricing, Tier: governance.Free,
			Title:   "Get prices",
			Summary: "What every route costs at the moment.",
			Returns: governance.Pricing{}, Fresh: httpcache.Pricing(), tag: cache.PricingTag,
		}, (*Backend).pricing),
		handle(Route{
			ID: "meta.data-status", Path: "/v2/meta/data-status", Tier: governance.Free,
			Title:   "Get the state of the data",
			Summary: "How fresh and how complete the data is, as a whole or of one DAO.",
			Returns: governance.DataStatus{}, tag: cache.StatusTag,
			Fresh: httpcache.Expiring("It states how far followed sources lag, in seconds, and is renewed without a purge."),
		}, (*Backend).dataStatus),
		handle(Route{
			ID: "meta.usage", Path: "/v2/meta/usage", Tier: governance.Free, Addition: true, TokenOnly: true,
			Title:   "Get your token's usage",
			Summary: "What the token that asks may use, and what it has used this month.",
			Returns: usage{}, Account: (*Backend).usage,
		}, handler[noParams](nil)),
	}
}

// pricing answers GET /v2/meta/pricing with the prices of this node, which are never stale.
func (b *Backend) pricing(context.Context, *Request, noParams) (Answer, error) {
	view := cache.View{DataAsOf: governance.TimestampOf(b.Now()), Readiness: governance.Ready}
	return Answer{Data: b.Prices.List(), View: view, NodeLocal: true}, nil
}

type statusParams struct {
	DAOID string `param:"daoId" exists:"true" doc:"The DAO to ask about; all of them when left out." example:"uniswap"`
}

// dataStatus answers GET /v2/meta/data-status. Lags grow while nothing is published: by revision, a source that
// has stopped would be 304 with the lag that it had.
func (b *Backend) dataStatus(ctx context.Context, r *Request, p statusParams) (Answer, error) {
	var status governance.DataStatus
	view, err := b.view(ctx, cache.DataStatusKey(p.DAOID), &status, r.missing())
	if err != nil {
		return Answer{}, err
	}
	for i := range status.Sources {
		status.Sources[i].SetLag(b.Now())
	}
	return Answer{Data: status, View: view, Source: httpcache.SourceRedis, ByContent: true}, nil
}

// Prices are the prices of paid routes.
type Prices struct {
	Token string
	// Network is the chain that payments are settled on, as eip155:<chain id>.
	Network string
	// PayPerRequest says whether the node takes payments for single requests.
	PayPerRequest bool
	// Paid holds the price of one request to each paid route, by route id, in whole tokens.
	Paid map[string]governance.Decimal
}

// Of returns the price of one request to a route; zero for a free one.
func (p Prices) Of(route Route) governance.Decimal { return cmp.Or(p.Paid[route.ID], "0") }

// List returns the prices of all routes, and the limits of all plans.
func (p Prices) List() governance.Pricing {
	list := governance.Pricing{Token: p.Token, Network: p.Network, PayPerRequest: p.PayPerRequest}
	for _, plan := range ratelimit.Plans() {
		limits := plan.Limits()
		row := governance.PlanLimits{Plan: string(plan), Standard: bucketSize(limits.Standard), Detail: bucketSize(limits.Detail)}
		if limits.Month > 0 {
			row.MonthlyAnswers = new(count(limits.Month))
		}
		list.Plans = append(list.Plans, row)
	}
	for _, route := range All() {
		list.Routes = append(list.Routes, governance.RoutePrice{
			RouteID: route.ID, Method: http.MethodGet, Path: route.Path,
			Tier: route.Tier, Paid: route.Paid(), Price: p.Of(route),
		})
	}
	return list
}

func bucketSize(r ratelimit.Rate) governance.BucketSize {
	return governance.BucketSize{PerMinute: strconv.Itoa(r.PerMinute), Burst: strconv.Itoa(r.Burst)}
}
