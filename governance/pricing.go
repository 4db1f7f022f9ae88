package governance

// Pricing is the payload of the prices: what each route costs at the moment.
type Pricing struct {
	Token         string       `json:"token" msgpack:"token"`
	Network       string       `json:"network" msgpack:"network"`
	Routes        []RoutePrice `json:"routes" msgpack:"routes"`
	PayPerRequest bool         `json:"payPerRequest" msgpack:"payPerRequest"`
	Plans         []PlanLimits `json:"plans" msgpack:"plans"`
}

// PlanLimits is what one plan allows.
type PlanLimits struct {
	Plan string `json:"plan" msgpack:"plan"`
	// MonthlyAnswers is how many answers with data a calendar month includes; nil for any number.
	MonthlyAnswers *string    `json:"monthlyAnswers" msgpack:"monthlyAnswers"`
	Standard       BucketSize `json:"standard" msgpack:"standard"`
	Detail         BucketSize `json:"detail" msgpack:"detail"`
}

// BucketSize is the size of a token bucket.
type BucketSize struct {
	PerMinute string `json:"perMinute" msgpack:"perMinute"`
	Burst     string `json:"burst" msgpack:"burst"`
}

// RoutePrice is the price of one route.
type RoutePrice struct {
	RouteID string  `json:"routeId" msgpack:"routeId"`
	Method  string  `json:"method" msgpack:"method"`
	Path    string  `json:"path" msgpack:"path"`
	Tier    Tier    `json:"tier" msgpack:"tier"`
	Paid    bool    `json:"paid" msgpack:"paid"`
	Price   Decimal `json:"price" msgpack:"price"`
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

// UsageCounts are totals of answers, by status: OK below 400 but for 304, which is NotModified, Refused below 500,
// and Failed.
type UsageCounts struct {
	Requests    uint64 `msgpack:"q"`
	OK          uint64 `msgpack:"o"`
	NotModified uint64 `msgpack:"m"`
	Refused     uint64 `msgpack:"r"`
	Failed      uint64 `msgpack:"f"`
	// Charged counts answers that count towards the quota of the month.
	Charged uint64 `msgpack:"c"`
	// Bytes is the size of the bodies.
	Bytes uint64 `msgpack:"b"`
	// Payments is always 0: the ledger has answers that are paid for one by one.
	Payments uint64 `msgpack:"p"`
}
