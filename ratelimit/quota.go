package ratelimit

import (
	"sync"
	"time"
)

// Month is a calendar month in UTC.
type Month struct {
	Begin time.Time
}

// MonthOf returns the month of a time.
func MonthOf(t time.Time) Month {
	utc := t.UTC()
	return Month{time.Date(utc.Year(), utc.Month(), 1, 0, 0, 0, 0, time.UTC)}
}

// End returns the first moment of the next month.
func (m Month) End() time.Time { return m.Begin.AddDate(0, 1, 0) }

// String returns the month as YYYY-MM.
func (m Month) String() string { return m.Begin.Format("2006-01") }

// Quota is the use of a month by a caller.
type Quota struct {
	Month Month
	// Limit is how many responses the month includes; zero for no quota.
	Limit int64
	Used  int64
	// Refused means that the quota was used up before the request.
	Refused bool
}

// Remaining returns how many responses are left.
func (q Quota) Remaining() int64 { return max(0, q.Limit-q.Used) }

// localQuotas holds the last known counts of the month, by caller. The process counts on from them without Redis.
type localQuotas struct {
	mu    sync.Mutex
	month Month
	used  map[string]int64
}

func (l *localQuotas) set(caller string, q Quota) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.advance(q.Month)
	l.used[caller] = q.Used
}

// reserve counts one more response unless the limit is reached.
func (l *localQuotas) reserve(caller string, limit int64, month Month) Quota {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.advance(month)
	q := Quota{Month: month, Limit: limit, Used: l.used[caller]}
	if q.Used >= limit {
		q.Refused = true
		return q
	}
	q.Used++
	l.used[caller] = q.Used
	return q
}

func (l *localQuotas) refund(caller string, month Month) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.advance(month)
	l.used[caller] = max(0, l.used[caller]-1)
}

// advance drops the counts of another month.
func (l *localQuotas) advance(month Month) {
	if l.month != month {
		l.month, l.used = month, map[string]int64{}
	}
}
