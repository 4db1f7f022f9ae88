// Package upstream runs the pollers of a followed upstream, as tests of connectors do. The folders below it are upstreams.
package upstream

import (
	"context"
	"testing"

	"pnyx/clock"
	"pnyx/follow"
	"pnyx/test/check"
	"pnyx/warehouse"
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
func (p *Polled) TryPoll(ctx context.Context, poller string) error {
	for {
		if more, err := p.Pollers[poller].Run(ctx); err != nil || !more {
			return err
		}
	}
}
