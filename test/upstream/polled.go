// Package upstream runs the pollers of a followed upstream, as tests of connectors do. The folders below it are upstreams.
package upstream

import (
	"context"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"pnyx/clock"
	"pnyx/follow"
	"pnyx/governance"
	"pnyx/test/check"
	"pnyx/warehouse"
	"pnyx/warehouse/records"
)

// Polled are the pollers of an upstream with their journal.
type Polled struct {
	Journal *follow.Journal
	Pollers map[string]follow.Poller

	tb testing.TB
}

// Follow begins to follow an upstream as a new process does: all that is not in the warehouse is forgotten.
func Follow(tb testing.TB, w *warehouse.Warehouse, followed follow.Upstream, c *clock.Clock) Polled {
	tb.Helper()
	journal := check.Must(follow.OpenJournal(tb.Context(), w, followed.ID(), followed.Sources(), c))(tb)
	p := Polled{journal, map[string]follow.Poller{}, tb}
	for _, poller := range followed.Pollers(journal) {
		p.Pollers[poller.Name] = poller
	}
	return p
}

// Poll runs pollers until they have nothing more to do.
func (p *Polled) Poll(pollers ...string) {
	p.tb.Helper()
	for _, poller := range pollers {
		if err := p.TryPoll(p.tb.Context(), poller); err != nil {
			p.tb.Fatalf("poller %s: %v", poller, err)
		}
	}
}

// TryPoll runs a poller until it has nothing more to do or fails.
func (p *Polled) TryPoll(ctx context.Context, poller string) (err error) {
	for more := true; more && err == nil; {
		more, err = p.Pollers[poller].Run(ctx)
	}
	return err
}

// FailPoll runs a poller, which has to fail with a part of a text.
func (p *Polled) FailPoll(poller, part string) {
	p.tb.Helper()
	if err := p.TryPoll(p.tb.Context(), poller); err == nil || !strings.Contains(err.Error(), part) {
		p.tb.Errorf("poller %s: got %v, want an error with %q", poller, err, part)
	}
}

// WantState fails the test unless a cursor has a state, and a part of a reason; "" for none.
func WantState(tb testing.TB, state governance.SourceState, reason string, cursor records.FollowCursor) {
	tb.Helper()
	if cursor.State != state || (cursor.Error == "") != (reason == "") || !strings.Contains(cursor.Error, reason) {
		tb.Errorf("got %s, %q, want %s, %q", cursor.State, cursor.Error, state, reason)
	}
}

// Crash ends pollers at a request that they make, without an answer to it.
type Crash struct {
	left   atomic.Int64 // requests until then; below 1 is never
	cancel context.CancelFunc
}

// Request counts a request to the upstream.
func (c *Crash) Request() {
	if c.left.Add(-1) == 0 {
		c.cancel()
		panic(http.ErrAbortHandler)
	}
}

// PollUntil runs pollers, which crash at a request, counted from 1.
func (p *Polled) PollUntil(c *Crash, request int64, pollers ...string) {
	var ctx context.Context
	ctx, c.cancel = context.WithCancel(p.tb.Context())
	c.left.Store(request)
	for i := 0; i < len(pollers) && p.TryPoll(ctx, pollers[i]) == nil; i++ {
	}
	c.left.Store(0)
}
