package routes

import (
	"cmp"
	"net/http"
	"strconv"

	"pnyx/governance"
	"pnyx/ratelimit"
)

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
