package forum_test

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"pnyx/clock"
	"pnyx/fetch"
	"pnyx/follow/forum"
	"pnyx/governance"
	"pnyx/test/env"
	polled "pnyx/test/upstream"
	upstream "pnyx/test/upstream/forum"
	"pnyx/warehouse"
	"pnyx/warehouse/record"
	"pnyx/warehouse/records"
)

const host = "forum.harbor.example"

// fixture is a followed forum. Both sides go by one clock, which moves only when a poller
// waits or the test says so.
type fixture struct {
	*upstream.Forum
	polled.Polled

	t         *testing.T
	clock     *clock.Clock
	address   *url.URL
	key       string
	field     string
	warehouse *warehouse.Warehouse
	followed  *forum.Forum

	// answers counts what the forum answered, by status.
	answers map[int]*atomic.Int64
	crash   polled.Crash
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	c := clock.Stepping(time.Date(2026, 3, 4, 9, 0, 0, 0, time.UTC))
	f := &fixture{Forum: upstream.New(c.Now), t: t, clock: c, warehouse: env.Warehouse(t), answers: map[int]*atomic.Int64{}}
	for _, status := range []int{200, 301, 403, 404, 410, 429, 500, 502, 503} {
		f.answers[status] = &atomic.Int64{}
	}
	server := httptest.NewServer(http.HandlerFunc(f.serve))
	t.Cleanup(server.Close)
	f.address = env.Must(url.Parse(server.URL))(t)
	f.AddCategory("Proposals", 0)
	f.restart()
	return f
}

// addTopics adds topics of one post, with a time between two.
func (f *fixture) addTopics(count int, between time.Duration) {
	for i := range count {
		f.AddTopic(1, fmt.Sprint("Topic ", i+1), "ada", "<p>one</p>")
		f.clock.Step(between)
	}
}

func (f *fixture) serve(w http.ResponseWriter, r *http.Request) {
	f.crash.Request()
	noted := httptest.NewRecorder()
	f.ServeHTTP(noted, r)
	f.answers[noted.Code].Add(1)
	maps.Copy(w.Header(), noted.Header())
	w.WriteHeader(noted.Code)
	_, _ = w.Write(noted.Body.Bytes()) // a client that left needs nothing
}

func (f *fixture) restart() {
	f.t.Helper()
	client := fetch.New(fetch.Options{UserAgent: "pnyx (ops@example.org)", Clock: f.clock})
	f.followed = &forum.Forum{
		Name: host, Host: client.Host(f.address, forum.Pace(f.key != "")), Key: f.key, User: "pnyx", AddressField: f.field, Clock: f.clock,
	}
	f.Polled = polled.Follow(f.t, f.warehouse, f.followed, f.clock)
}

// order is the order in which pollers of equal time run.
func order() []string { return []string{"categories", "log", "watch", "backfill", "sweep", "missing"} }

// follow runs all pollers at their intervals for a time.
func (f *fixture) follow(span time.Duration) {
	f.t.Helper()
	next := map[string]time.Time{}
	for end := f.clock.Now().Add(span); f.clock.Now().Before(end); f.clock.Step(time.Second) {
		for _, poller := range order() {
			if now := f.clock.Now(); !now.Before(next[poller]) {
				next[poller] = now.Add(f.Pollers[poller].Interval)
				f.Poll(poller)
			}
		}
	}
}

// shown returns the held topics that answers may have.
func (f *fixture) shown() []record.Topic {
	f.t.Helper()
	ids := make([]string, 400)
	for i := range ids {
		ids[i] = strconv.Itoa(i + 1)
	}
	held := env.Must(records.HeldTopics(f.t.Context(), f.warehouse, host, ids, true))(f.t)
	shown := []record.Topic{}
	for _, topic := range held {
		if topic.Visible && !topic.Withdrawn {
			shown = append(shown, topic)
		}
	}
	return shown
}

// wantTruth fails the test unless what is held is what the forum shows.
func (f *fixture) wantTruth() {
	f.t.Helper()
	env.WantSame(f.t, "the forum, and what is held", f.Truth(host), f.shown())
}

func (f *fixture) cursor(poller string) records.FollowCursor {
	return f.Journal.Cursor(record.SourceRef{Provider: governance.Discourse, ID: host}, poller)
}

func (f *fixture) topic(id int) record.Topic {
	f.t.Helper()
	held, err := records.HeldTopics(f.t.Context(), f.warehouse, host, []string{strconv.Itoa(id)}, true)
	if err != nil || len(held) != 1 {
		f.t.Fatalf("got %d records of topic %d (%v), want one", len(held), id, err)
	}
	return held[0]
}

func (f *fixture) fetches() (sum int) {
	for id := range 400 {
		sum += f.Requests("/t/" + strconv.Itoa(id+1) + ".json")
	}
	return sum
}

// wantLimited fails the test unless an error says that the forum allows no more requests.
func wantLimited(t *testing.T, err error) time.Time {
	t.Helper()
	limited, ok := errors.AsType[*fetch.LimitedError](err)
	if !ok {
		t.Fatalf("got %v, want that no more requests are allowed", err)
	}
	return limited.Until
}
