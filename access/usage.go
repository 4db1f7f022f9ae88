package access

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/vmihailenco/msgpack/v5"

	"pnyx/backoff"
	"pnyx/cache"
	"pnyx/cache/accounts"
	"pnyx/governance"
)

// Usage is the running total of one meter for a token, day and route.
type Usage struct {
	// Session identifies the meter, from the start to the end of a node.
	Session string `msgpack:"x"`
	// TokenID is empty for requests that are paid individually. Day is a date in UTC, as YYYY-MM-DD.
	TokenID                string `msgpack:"t"`
	Day                    string `msgpack:"d"`
	Route                  string `msgpack:"r"`
	governance.UsageCounts `msgpack:"n"`
}

func (u *Usage) field() string {
	return strings.Join([]string{u.Session, u.TokenID, u.Day, u.Route}, "|")
}

// DecodeUsage decodes the value of a counter.
func DecodeUsage(value string) (Usage, error) {
	var u Usage
	if err := msgpack.Unmarshal([]byte(value), &u); err != nil {
		return Usage{}, fmt.Errorf("decode usage: %w", err)
	}
	return u, nil
}

// Response is a response to count.
type Response struct {
	TokenID string
	Route   string
	Status  int
	Bytes   int
	// Charged means that the response counts towards the quota of the month.
	Charged bool
}

// Meter counts the responses of one API node from its start on. It writes totals: writing one twice changes
// nothing, and the next write repairs a lost one. It is safe for concurrent use.
type Meter struct {
	store   *accounts.Store
	session string
	logger  *slog.Logger
	mu      sync.Mutex
	counts  map[string]*Usage
	changed map[string]bool
}

// NewMeter returns a meter that writes nothing until Run.
func NewMeter(store *accounts.Store, logger *slog.Logger) *Meter {
	return &Meter{
		store: store, session: rand.Text(), logger: logger,
		counts: map[string]*Usage{}, changed: map[string]bool{},
	}
}

// Count counts a response.
func (m *Meter) Count(a Response, now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	u := &Usage{Session: m.session, TokenID: a.TokenID, Day: now.UTC().Format(time.DateOnly), Route: a.Route}
	field := u.field()
	if m.counts[field] == nil {
		m.counts[field] = u
	}
	a.addTo(&m.counts[field].UsageCounts)
	m.changed[field] = true
}

func (a Response) addTo(t *governance.UsageCounts) {
	t.Requests++
	t.Bytes += uint64(a.Bytes) //nolint:gosec // a length
	switch {
	case a.Status == http.StatusNotModified:
		t.NotModified++
	case a.Status < http.StatusBadRequest:
		t.OK++
	case a.Status < http.StatusInternalServerError:
		t.Refused++
	default:
		t.Failed++
	}
	if a.Charged {
		t.Charged++
	}
}

// Run writes changed counters to Redis until ctx ends, and once more at the end.
func (m *Meter) Run(ctx context.Context) {
	const writeInterval = time.Second // how often a node writes its counters to Redis
	for backoff.Wait(ctx, writeInterval); ctx.Err() == nil; backoff.Wait(ctx, writeInterval) {
		m.write(ctx)
		m.dropPastDays(time.Now())
	}
	m.write(context.WithoutCancel(ctx))
}

// RewriteAll makes the next write include every counter, because Redis may have lost the last writes.
func (m *Meter) RewriteAll() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for field := range m.counts {
		m.changed[field] = true
	}
}

// write writes the changed counters. Counters that Redis does not accept are written again with the next ones.
func (m *Meter) write(ctx context.Context) {
	for {
		counters := m.takeChanged()
		if len(counters) == 0 {
			return
		}
		if err := m.store.WriteCounters(ctx, counters); err != nil {
			m.markChanged(counters)
			m.logger.LogAttrs(ctx, slog.LevelWarn, "usage not written to Redis, retrying", slog.Any("error", err))
			return
		}
	}
}

// takeChanged returns up to writeBatchSize changed counters and marks them as written.
func (m *Meter) takeChanged() []accounts.UsageCounter {
	const writeBatchSize = 1000 // the maximum number of counters in one command
	m.mu.Lock()
	defer m.mu.Unlock()
	var counters []accounts.UsageCounter
	for field := range m.changed {
		counters = append(counters, accounts.UsageCounter{Field: field, Value: string(cache.Encode(m.counts[field]))})
		delete(m.changed, field)
		if len(counters) == writeBatchSize {
			break
		}
	}
	return counters
}

func (m *Meter) markChanged(counters []accounts.UsageCounter) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, counter := range counters {
		m.changed[counter.Field] = true
	}
}

// dropPastDays drops written counters of days before yesterday.
func (m *Meter) dropPastDays(now time.Time) {
	yesterday := now.UTC().AddDate(0, 0, -1).Format(time.DateOnly)
	m.mu.Lock()
	defer m.mu.Unlock()
	for field, u := range m.counts {
		if u.Day < yesterday && !m.changed[field] {
			delete(m.counts, field)
		}
	}
}

// MonthUsage is the view with the use of a token in a month, as YYYY-MM, by day and route.
type MonthUsage struct {
	Month string     `msgpack:"m"`
	Days  []DayUsage `msgpack:"d"`
}

// DayUsage is the use of a token on one route in one day in UTC, as YYYY-MM-DD.
type DayUsage struct {
	Day                    string `msgpack:"d"`
	Route                  string `msgpack:"r"`
	governance.UsageCounts `msgpack:"n"`
}
