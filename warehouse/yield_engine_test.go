package warehouse_test

import (
	"context"
	"testing"
	"time"

	"pnyx/warehouse"
	"pnyx/warehouse/records"
)

func TestYieldingStatementsUseHalfOfTheThreadsAndEndTheirTurn(t *testing.T) {
	t.Parallel()
	w := open(t)
	all, err := warehouse.ServerThreads(w, t.Context())
	if err != nil {
		t.Fatal(err)
	}
	yielding := warehouse.Yielding(t.Context())
	threads := func(ctx context.Context, want uint64) {
		t.Helper()
		ctx, cancel := context.WithTimeout(ctx, time.Minute) // a setting too
		defer cancel()
		if got, err := warehouse.ServerThreads(w, ctx); err != nil || got != want {
			t.Errorf("got %d threads, %v, want %d", got, err, want)
		}
	}
	threads(yielding, all)
	defer w.Serve()()
	threads(t.Context(), all)
	threads(yielding, max(all/2, 1))
	threads(warehouse.InBackground(t.Context()), 1)
	for name, statement := range map[string]func() error{
		"one row":  func() error { _, err := w.Now(yielding); return err },
		"a struct": func() error { _, err := w.Pulse(yielding, 0); return err },
		"rows":     func() error { _, err := records.AllProposals(yielding, w); return err },
		"command":  func() error { return records.CommitAbandoned(yielding, w) },
	} {
		if err := statement(); err != nil || w.IsYielding() {
			t.Errorf("%s: got %v, still its turn %t, want it ended", name, err, w.IsYielding())
		}
	}
}
