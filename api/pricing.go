package api

import (
	"cmp"
	"net/http"

	"pnyx/governance"
)

// Prices are the prices of paid routes.
type Prices struct {
	// Token is the symbol of the token that payments are made in.
	Token string
	// Network is the chain that payments are settled on, as eip155:<chain id>.
	Network string
	// Paid holds the price of one request to each paid route, by route id, in whole tokens.
	Paid map[string]governance.Decimal
}

// Of returns the price of one request to a route; zero for a free one.
func (p Prices) Of(route Route) governance.Decimal {
	return cmp.Or(p.Paid[route.ID], "0")
}

// List returns the prices of all routes.
func (p Prices) List() governance.Pricing {
	list := governance.Pricing{Token: p.Token, Network: p.Network}
	for _, route := range Routes() {
		list.Routes = append(list.Routes, governance.RoutePrice{
			RouteID: route.ID, Method: http.MethodGet, Path: route.Path,
			Tier: route.Tier, Paid: route.Paid(), Price: p.Of(route),
		})
	}
	return list
}
