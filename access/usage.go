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

	"pnyx/cache/accounts"
)

// writeEvery is how often a node writes down what it has counted.
const writeEvery = time.Second

// writeAtOnce is how many counts go to Redis in one command.
const writeAtOnce = 1000

// Usage is what a token was used for on one route in one day, as one session of an
// API node has counted it so far.
type Usage struct {
	Session string `msgpack:"x"`
	// TokenID is empty for those who pay for each request.
	TokenID string `msgpack:"t"`
	// Day is a date, UTC.
	Day      string `msgpack:"d"`
	Route    string `msgpack:"r"`
	Counters `msgpack:"n"`
}

// Counters is how often something happened.
type Counters struct {
	Requests    uint64 `msgpack:"q"`
	OK          uint64 `msgpack:"o"`
	NotModified uint64 `msgpack:"m"`
	Refused     uint64 `msgpack:"r"`
	Failed      uint64 `msgpack:"f"`
	// Charged counts the answers of the month's quota, Bytes those of bodies.
	Charged  uint64 `msgpack:"c"`
	Bytes    uint64 `msgpack:"b"`
	Payments uint64 `msgpack:"p"`
}

// field names what is counted.
func (u *Usage) field() string {
	return strings.Join([]string{u.Session, u.TokenID, u.Day, u.Route}, "|")
}

// DecodeUsage reads a count.
func DecodeUsage(value string) (Usage, error) {
	var u Usage
	if err := msgpack.Unmarshal([]byte(value), &u); err != nil {
		return Usage{}, fmt.Errorf("decode usage: %w", err)
	}
	return u, nil
}

// Response is one answer to be counted.
type Response struct {
	TokenID string
	Route   string
	Status  int
	Bytes   int
	// Charged says that it counts towards the month, Paid that it was paid for.
	Charged, Paid bool
}

// Meter counts the answers of one API node from its start on. What it writes down
// are not differences but the counts so far: writing twice does no harm, and what
// got lost comes with the next writing.
type Meter struct {
	store   *accounts.Store
	session string
	logger  *slog.Logger
	mu      sync.Mutex
	counts  map[string]*Usage
	changed map[string]bool
	today   today
}

// NewMeter returns a meter that writes down nothing until Run.
func NewMeter(store *accounts.Store, logger *slog.Logger) *Meter {
	return &Meter{
		store: store, session: rand.Text(), logger: logger,
		counts: map[string]*Usage{}, changed: map[string]bool{},
	}
}

// Count counts an answer.
func (m *Meter) Count(a Response, now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	field := m.fieldOf(a, now)
	m.counts[field].add(a)
	m.changed[field] = true
}

// today names the counts of one day without writing their names anew each time.
type today struct {
	// number counts the days since 1970.
	number int64
	fields map[counted]string
}

// counted is what answers of a day are told apart by.
type counted struct{ tokenID, route string }

const secondsADay = 24 * 60 * 60

// fieldOf returns the name of the count that an answer belongs to, and makes sure
// that there is one.
func (m *Meter) fieldOf(a Response, now time.Time) string {
	if day := now.Unix() / secondsADay; day != m.today.number || m.today.fields == nil {
		m.today = today{day, map[counted]string{}}
	}
	field := m.today.fields[counted{a.TokenID, a.Route}]
	if m.counts[field] != nil {
		return field
	}
	u := &Usage{Session: m.session, TokenID: a.TokenID, Day: now.UTC().Format(time.DateOnly), Route: a.Route}
	field = u.field()
	m.today.fields[counted{a.TokenID, a.Route}] = field
	if m.counts[field] == nil {
		m.counts[field] = u
	}
	return field
}

func (t *Counters) add(a Response) {
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
	if a.Paid {
		t.Payments++
	}
}

// Run writes down what was counted until ctx ends, and once more then.
func (m *Meter) Run(ctx context.Context) {
	ticker := time.NewTicker(writeEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			m.write(context.WithoutCancel(ctx))
			return
		case now := <-ticker.C:
			m.write(ctx)
			m.forget(now)
		}
	}
}

// RewriteAll writes everything down at the next writing: Redis may have lost what
// was written last.
func (m *Meter) RewriteAll() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for field := range m.counts {
		m.changed[field] = true
	}
}

// write writes down what has changed. What Redis does not take is written later.
func (m *Meter) write(ctx context.Context) {
	for {
		counts := m.take()
		if len(counts) == 0 {
			return
		}
		if err := m.store.WriteCounters(ctx, counts); err != nil {
			m.putBack(counts)
			m.logger.LogAttrs(ctx, slog.LevelWarn, "usage is written down later", slog.Any("error", err))
			return
		}
	}
}

func (m *Meter) take() []accounts.UsageCounter {
	m.mu.Lock()
	defer m.mu.Unlock()
	var counts []accounts.UsageCounter
	for field := range m.changed {
		value, err := msgpack.Marshal(m.counts[field])
		if err != nil {
			panic(err) // it holds numbers and texts
		}
		counts = append(counts, accounts.UsageCounter{Field: field, Value: string(value)})
		delete(m.changed, field)
		if len(counts) == writeAtOnce {
			break
		}
	}
	return counts
}

func (m *Meter) putBack(counts []accounts.UsageCounter) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, count := range counts {
		m.changed[count.Field] = true
	}
}

// forget drops the counts of days that are over and written down.
func (m *Meter) forget(now time.Time) {
	yesterday := now.UTC().AddDate(0, 0, -1).Format(time.DateOnly)
	m.mu.Lock()
	defer m.mu.Unlock()
	for field, u := range m.counts {
		if u.Day < yesterday && !m.changed[field] {
			delete(m.counts, field)
		}
	}
}

// MonthUsage is what a token was used for in a month, by day and route, as a view.
type MonthUsage struct {
	Month string     `msgpack:"m"`
	Days  []DayUsage `msgpack:"d"`
}

// DayUsage is what a token was used for on one route in one day.
type DayUsage struct {
	Day      string `msgpack:"d"`
	Route    string `msgpack:"r"`
	Counters `msgpack:"n"`
}
