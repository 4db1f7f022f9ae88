package drills

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"
)

// followedUpstream is one system that a drill follows.
type followedUpstream interface {
	// change makes one change, as a person would.
	change(random *rand.Rand) error
	// every is the mean time between two changes.
	every() time.Duration
	// faults are those that only this kind of system has. They repair what they break.
	faults(f *followed) []fault
	// differ reports the first difference between the API and the system.
	differ(f *followed) error
}

type fault struct {
	name string
	do   func()
}

// gateway is the way to an upstream system. It fails on demand, and notes who asks.
type gateway struct {
	name string
	url  string

	mu sync.Mutex
	// refuse answers instead of the system; nil while it works.
	refuse http.HandlerFunc
	// caller asked last, requests counts the requests of all callers, and handOvers how often another asked next.
	caller              string
	requests, handOvers int
}

// newGateway serves a system on a port of its own until the test ends.
func newGateway(tb testing.TB, name string, to http.Handler) *gateway {
	tb.Helper()
	g := &gateway{name: name}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if refuse := g.note(r.UserAgent()); refuse != nil {
			refuse(w, r)
			return
		}
		to.ServeHTTP(w, r)
	}))
	tb.Cleanup(server.Close)
	g.url = server.URL
	return g
}

func (g *gateway) note(caller string) (refuse http.HandlerFunc) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.requests++
	if g.caller != caller {
		g.caller = caller
		g.handOvers++
	}
	return g.refuse
}

// fail makes the gateway answer instead of the system; nil ends that.
func (g *gateway) fail(refuse http.HandlerFunc) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.refuse = refuse
}

// counted returns how many requests there were, and how often another caller asked next.
func (g *gateway) counted() (requests, handOvers int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.requests, g.handOvers
}

// outage is a way in which a system fails as a whole.
type outage struct {
	name   string
	answer http.HandlerFunc
}

// outages are those that every system has.
func outages() []outage {
	return []outage{
		{"is down", func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "<h1>502</h1>", http.StatusBadGateway) }},
		{"allows no more requests", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "3")
			http.Error(w, "too many requests", http.StatusTooManyRequests)
		}},
		{"closes connections", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }},
		{"answers with a page of HTML", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, "<title>Just a moment...</title>")
		}},
	}
}

// faults are the outages, for a while.
func (g *gateway) faults(f *followed) (all []fault) {
	for _, outage := range outages() {
		all = append(all, fault{g.name + " " + outage.name, func() {
			g.fail(outage.answer)
			f.pause(8 * time.Second)
			g.fail(nil)
		}})
	}
	return all
}
