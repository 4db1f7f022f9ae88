// Package ratelimit decides how much a caller may request: plans, token buckets and
// monthly quotas.
//
// [Limiter] keeps buckets and quotas in Redis, where they hold for all processes. While
// Redis is unavailable each process falls back to buckets of the same size of its own.
// [IPLimiter] limits requests per IP address on free routes, in each process. [Plan]
// names a row of the table of limits.
package ratelimit

import (
	"fmt"
	"slices"
	"strconv"
	"time"
)

// Plan is the name of a set of limits.
type Plan string

// The plans. A new plan needs a constant here and a row in planTable.
const (
	Developer     Plan = "developer"
	Business      Plan = "business"
	Custom        Plan = "custom"
	PayPerRequest Plan = "pay-per-request"
)

// planTable returns the limits of every plan. The first row also serves a plan that only newer versions know.
func planTable() [4]planRow {
	return [4]planRow{
		{Developer, Limits{Month: 3_000, Standard: Rate{30, 10}, Detail: Rate{10, 5}}},
		{Business, Limits{Month: 20_000, Standard: Rate{120, 40}, Detail: Rate{30, 10}}},
		{Custom, Limits{Month: 100_000, Standard: Rate{300, 100}, Detail: Rate{75, 25}}},
		{PayPerRequest, Limits{Standard: Rate{60, 20}, Detail: Rate{20, 8}}},
	}
}

type planRow struct {
	plan   Plan
	limits Limits
}

// Plans returns every plan.
func Plans() []Plan {
	rows := planTable()
	plans := make([]Plan, len(rows))
	for i, row := range rows {
		plans[i] = row.plan
	}
	return plans
}

// PlanDescription is a row of the table of plans, for people.
type PlanDescription struct {
	Name string
	// Month is how many answers a month includes. Standard and Detail are the buckets of standard and of plus
	// routes.
	Month, Standard, Detail string
}

// DescribePlans returns the limits of every plan in words.
func DescribePlans() []PlanDescription {
	var rows []PlanDescription
	for _, row := range planTable() {
		month := "any number"
		if row.limits.Month > 0 {
			month = strconv.FormatInt(row.limits.Month, 10)
		}
		rows = append(rows, PlanDescription{string(row.plan), month, row.limits.Standard.String(), row.limits.Detail.String()})
	}
	return rows
}

// TokenPlans returns the plans that a token may have.
func TokenPlans() []Plan {
	return slices.DeleteFunc(Plans(), func(p Plan) bool { return p == PayPerRequest })
}

// ParsePlan returns the plan with a name that a token may have.
func ParsePlan(name string) (Plan, error) {
	allowed := TokenPlans()
	if !slices.Contains(allowed, Plan(name)) {
		return "", fmt.Errorf("token plan %q: want one of %v", name, allowed)
	}
	return Plan(name), nil
}

// Limits returns the limits of a plan.
func (p Plan) Limits() Limits {
	rows := planTable()
	return rows[max(0, slices.IndexFunc(rows[:], func(row planRow) bool { return row.plan == p }))].limits
}

// Bucket is the name of a token bucket.
type Bucket string

// The buckets: of standard routes, of detail ("plus") routes, and of an IP address on
// free routes, for payments, and for payments whose signature only a contract can check.
const (
	Standard        Bucket = "standard"
	Detail          Bucket = "detail"
	Free            Bucket = "free"
	Payment         Bucket = "payment"
	ContractPayment Bucket = "contract-payment"
)

// PaymentRate returns how many payments one address may send to one node before any work is done for them. Payment
// holds for all, and is more than one payer may spend; ContractPayment holds in addition for payments that only
// the facilitator can check.
func PaymentRate(b Bucket) Rate {
	if b == ContractPayment {
		return Rate{20, 5}
	}
	return Rate{120, 40}
}

// Rate is the size of a bucket. Both fields are positive in a rate that is enforced.
type Rate struct {
	PerMinute int `msgpack:"r"`
	// Burst is how many requests a full bucket allows at once.
	Burst int `msgpack:"b"`
}

// String returns the rate in words.
func (r Rate) String() string {
	return fmt.Sprintf("%d a minute, %d at once", r.PerMinute, r.Burst)
}

// interval is the time until one more request is allowed.
func (r Rate) interval() time.Duration { return time.Minute / time.Duration(r.PerMinute) }

// Window returns how long an empty bucket takes to fill.
func (r Rate) Window() time.Duration {
	return r.interval() * time.Duration(r.Burst)
}

// Limits is what a caller may request.
type Limits struct {
	// Month is how many responses a calendar month includes; zero for no quota.
	Month    int64 `msgpack:"m"`
	Standard Rate  `msgpack:"s"`
	Detail   Rate  `msgpack:"d"`
}

// LimitsFromRow returns limits from their stored form: the quota of a month, then requests a minute and burst of
// the standard and of the detail bucket; nil for another row.
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
