package governance

// Pricing is the payload of the prices: what each route costs at the moment.
type Pricing struct {
	// Token is the symbol of the token that payments are made in.
	Token string `json:"token" msgpack:"token"`
	// Network is the chain that payments are settled on, as eip155:<chain id>.
	Network string `json:"network" msgpack:"network"`
	// Routes holds the price of each route.
	Routes []RoutePrice `json:"routes" msgpack:"routes"`
	// PayPerRequest says whether the node takes payments for single requests. Otherwise
	// paid routes need a partner token.
	PayPerRequest bool `json:"payPerRequest" msgpack:"payPerRequest"`
	// Plans holds the limits of each plan.
	Plans []PlanLimits `json:"plans" msgpack:"plans"`
}

// PlanLimits is what one plan allows.
type PlanLimits struct {
	// Plan is the name of the plan.
	Plan string `json:"plan" msgpack:"plan"`
	// MonthlyAnswers is how many answers with data a calendar month includes; nil for any
	// number.
	MonthlyAnswers *string `json:"monthlyAnswers" msgpack:"monthlyAnswers"`
	// Standard is the bucket of routes of tier standard.
	Standard BucketSize `json:"standard" msgpack:"standard"`
	// Detail is the bucket of routes of tier plus.
	Detail BucketSize `json:"detail" msgpack:"detail"`
}

// BucketSize is the size of a token bucket.
type BucketSize struct {
	// PerMinute is how many requests a minute are allowed on average.
	PerMinute string `json:"perMinute" msgpack:"perMinute"`
	// Burst is how many requests a full bucket allows at once.
	Burst string `json:"burst" msgpack:"burst"`
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
