package ratelimit

import "sync"

// Quota is where a caller stands in a month.
type Quota struct {
	Month Month
	// Limit is zero where there is none.
	Limit, Used int64
	// Refused says that the limit was reached before.
	Refused bool
}

// Remaining is how many answers are left.
func (q Quota) Remaining() int64 {
	return max(0, q.Limit-q.Used)
}

// tallies is what this process last knew of the callers' months. It is counted on
// from there while Redis is away.
type tallies struct {
	mu    sync.Mutex
	month Month
	used  map[string]int64
}

// note keeps what Redis has said.
func (t *tallies) note(caller string, q Quota) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.turn(q.Month)
	t.used[caller] = q.Used
}

// reserve counts one more unless the limit is reached.
func (t *tallies) reserve(caller string, limit int64, month Month) Quota {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.turn(month)
	q := Quota{Month: month, Limit: limit, Used: t.used[caller]}
	if q.Used >= limit {
		q.Refused = true
		return q
	}
	q.Used++
	t.used[caller] = q.Used
	return q
}

// giveBack counts one less.
func (t *tallies) giveBack(caller string, month Month) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.turn(month)
	t.used[caller] = max(0, t.used[caller]-1)
}

// turn forgets an earlier month.
func (t *tallies) turn(month Month) {
	if t.month != month {
		t.month, t.used = month, map[string]int64{}
	}
}
