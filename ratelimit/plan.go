// Package ratelimit says how much a caller may ask: plans, token buckets, and
// monthly quotas. Buckets and quotas live in Redis and hold for all processes;
// while Redis is away each process keeps buckets of the same size for itself.
package ratelimit

import (
	"fmt"
	"slices"
	"time"
)

// Plan is the name of a set of limits.
type Plan string

// The plans.
const (
	Developer     Plan = "developer"
	Business      Plan = "business"
	Custom        Plan = "custom"
	PayPerRequest Plan = "pay-per-request"
)

// Bucket is the name of a token bucket.
type Bucket string

// The buckets: of standard routes, of the detail ("plus") routes, and of an
// address on free routes.
const (
	Standard Bucket = "standard"
	Detail   Bucket = "detail"
	Free     Bucket = "free"
)

// Rate is the size of a bucket: so many requests a minute, of which some may come
// at once.
type Rate struct {
	PerMinute int `msgpack:"r"`
	Burst     int `msgpack:"b"`
}

// interval is how long it takes until one more request is allowed.
func (r Rate) interval() time.Duration {
	return time.Minute / time.Duration(r.PerMinute)
}

// Window is how long an empty bucket takes to be full again.
func (r Rate) Window() time.Duration {
	return time.Minute * time.Duration(r.Burst) / time.Duration(r.PerMinute)
}

// Limits is what a plan allows.
type Limits struct {
	// Month is how many answers a calendar month holds; zero for no bound.
	Month    int64 `msgpack:"m"`
	Standard Rate  `msgpack:"s"`
	Detail   Rate  `msgpack:"d"`
}

// LimitsFromRow returns the limits that are written down as a row of numbers: the
// month's, then requests a minute and burst of the standard and of the detail
// bucket. It returns nil for none.
func LimitsFromRow(row []uint32) *Limits {
	if len(row) != 5 || slices.Contains(row[1:], 0) {
		return nil
	}
	return &Limits{
		Month:    int64(row[0]),
		Standard: Rate{int(row[1]), int(row[2])},
		Detail:   Rate{int(row[3]), int(row[4])},
	}
}

// Rate returns the size of a bucket.
func (l Limits) Rate(b Bucket) Rate {
	if b == Detail {
		return l.Detail
	}
	return l.Standard
}

// Plans lists every plan.
func Plans() []Plan {
	return []Plan{Developer, Business, Custom, PayPerRequest}
}

// ParsePlan returns the plan of that name that tokens may have.
func ParsePlan(name string) (Plan, error) {
	ofTokens := slices.DeleteFunc(Plans(), func(p Plan) bool { return p == PayPerRequest })
	if !slices.Contains(ofTokens, Plan(name)) {
		return "", fmt.Errorf("no plan of tokens is called %q: want one of %v", name, ofTokens)
	}
	return Plan(name), nil
}

// Limits returns what a plan allows.
func (p Plan) Limits() Limits {
	switch p {
	case Business:
		return Limits{Month: 20_000, Standard: Rate{120, 40}, Detail: Rate{30, 10}}
	case Custom:
		return Limits{Month: 100_000, Standard: Rate{300, 100}, Detail: Rate{75, 25}}
	case PayPerRequest:
		return Limits{Standard: Rate{60, 20}, Detail: Rate{20, 8}}
	default: // Developer, which a plan that a newer version has written down is taken for
		return Limits{Month: 3_000, Standard: Rate{30, 10}, Detail: Rate{10, 5}}
	}
}

// Month is a calendar month, UTC.
type Month struct {
	// Begin is its first moment.
	Begin time.Time
}

// MonthOf returns the month of a moment.
func MonthOf(moment time.Time) Month {
	utc := moment.UTC()
	return Month{time.Date(utc.Year(), utc.Month(), 1, 0, 0, 0, 0, time.UTC)}
}

// End is the first moment of the next month.
func (m Month) End() time.Time {
	return m.Begin.AddDate(0, 1, 0)
}

// String is the month as YYYY-MM.
func (m Month) String() string {
	return m.Begin.Format("2006-01")
}
