// Package follow keeps the warehouse current with live upstream systems.
//
// An [Upstream] is one system that is polled: a Snapshot hub, a chain, a forum or a Tally
// endpoint, with all the sources that are followed there. It has pollers: kinds of polling,
// each with a cursor of its own. A [Journal] writes what a poller finds, and moves its cursor
// only when the records are committed. A crash in between reads again what is already
// there, which changes nothing.
//
// A [Follower] runs the pollers of the upstreams that it leads. One follower leads an
// upstream at a time, by a lease.
package follow

import (
	"context"
	"errors"
	"time"

	"pnyx/warehouse/record"
)

// ErrStopped is returned by a poller that must not go on before a person decides. Its text
// says what to decide. The poller runs again after a restart or a change of the sources.
var ErrStopped = errors.New("halted, operator action required")

// ErrEndless is returned by a poller whose upstream lists more than there can be, or the same
// again and again. What was listed is kept, and the rest is not read.
var ErrEndless = errors.New("the list has no end")

// Upstream is one system that is polled.
type Upstream interface {
	// ID names the upstream: "snapshot:hub.snapshot.org", "eip155:1", "discourse:forum.example.org".
	ID() string
	// Sources are what is followed there, as the records name them. They do not change.
	Sources() []record.SourceRef
	// Pollers returns what is polled: the follower runs each on its own, until the lease is lost.
	Pollers(journal *Journal) []Poller
	// Check asks the upstream what each of its sources is and holds. It writes nothing.
	Check(ctx context.Context) []Check
}

// Poller is one kind of polling.
type Poller struct {
	// Source is the source whose cursors it moves. It is empty for a poller of several sources.
	Source record.SourceRef
	// Name is the poller of the cursors that it moves: log, watch, close, sweep, tip, final, backfill.
	Name string
	// Interval is the time from the start of one run to the start of the next.
	Interval time.Duration
	// Run polls once. more asks for the next run at once, without the pause: a backfill that is not done.
	Run func(ctx context.Context) (more bool, err error)
}

// Check is what an upstream says about one source.
type Check struct {
	Source string
	// Is says what it is: "Snapshot space ENS, 112 proposals, 3.1 M votes".
	Is string
	// RequestsPerDay estimates what following costs while nothing happens, RequestsPerDayBusy while votes are open.
	RequestsPerDay, RequestsPerDayBusy int
	// Backfill estimates how long reading its past takes, if nothing else is asked of the upstream; 0 if unknown.
	Backfill time.Duration
	// Limit names the provider's limit; empty where none is known.
	Limit string
	// Problem is empty for a source that can be followed. Silent is true if the upstream did not answer.
	Problem string
	Silent  bool
}
