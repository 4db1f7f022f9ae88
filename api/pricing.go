package api

import (
	"cmp"
	"net/http"

	"pnyx/governance"
)

// Prices says what paid routes cost.
type Prices struct {
	// Token is the symbol of the token that payments are made in, Network the chain
	// they are settled on.
	Token, Network string
	// Paid holds the prices of one request to each paid route, by its id, in whole
	// tokens.
	Paid map[string]governance.Decimal
}

// Of returns what a request to a route costs.
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
