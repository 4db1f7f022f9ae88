package governance

// Pricing is the payload of the prices: what each route costs at the moment.
type Pricing struct {
	// Token is the symbol of the token that payments are made in.
	Token string `json:"token" msgpack:"token"`
	// Network is the chain that payments are settled on, as eip155:<chain id>.
	Network string `json:"network" msgpack:"network"`
	// Routes holds the price of each route.
	Routes []RoutePrice `json:"routes" msgpack:"routes"`
}

// RoutePrice is the price of one route.
type RoutePrice struct {
	// RouteID is the id of the route.
	RouteID string `json:"routeId" msgpack:"routeId"`
	// Method is the HTTP method.
	Method string `json:"method" msgpack:"method"`
	// Path is the path of the route.
	Path string `json:"path" msgpack:"path"`
	// Tier is the tier of the route.
	Tier Tier `json:"tier" msgpack:"tier"`
	// Paid says whether the route is paid.
	Paid bool `json:"paid" msgpack:"paid"`
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
