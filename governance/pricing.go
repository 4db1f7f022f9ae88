package governance

// Pricing is the payload of the prices: what each route costs at the moment.
type Pricing struct {
	// Token is the symbol of the token that payments are made in.
	Token string `json:"token" msgpack:"token"`
	// Network is the chain that payments are settled on, as eip155:<chain id>.
	Network string       `json:"network" msgpack:"network"`
	Routes  []RoutePrice `json:"routes" msgpack:"routes"`
}

// RoutePrice is the price of one route.
type RoutePrice struct {
	RouteID string `json:"routeId" msgpack:"routeId"`
	Method  string `json:"method" msgpack:"method"`
	Path    string `json:"path" msgpack:"path"`
	Tier    Tier   `json:"tier" msgpack:"tier"`
	Paid    bool   `json:"paid" msgpack:"paid"`
	// Price is what one request costs in whole tokens; "0" where nothing is paid.
	Price Decimal `json:"price" msgpack:"price"`
}

// Tier says who may read a route.
type Tier string

// The tiers.
const (
	// Free routes need no credentials.
	Free Tier = "free"
	// Standard and Plus routes are paid, by partner token or per request.
	Standard Tier = "standard"
	Plus     Tier = "plus"
)
