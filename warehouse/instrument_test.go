package warehouse_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"

	"pnyx/governance"
	"pnyx/test/env"
	"pnyx/warehouse"
	"pnyx/warehouse/record"
	"pnyx/warehouse/records"
)

func TestConnectionsInUseAreBusyBesideIdleOnes(t *testing.T) {
	t.Parallel()
	w := env.Warehouse(t)
	metrics := prometheus.NewRegistry()
	w.Instrument(metrics, nil)
	env.Concurrently(t, 4, 4, func(int) error { return w.Ping(t.Context()) }) // leaves idle ones
	want := func(busy float64) {
		t.Helper()
		got := map[string]float64{}
		families := env.Must(metrics.Gather())(t)
		for _, family := range families {
			for _, m := range family.GetMetric() {
				if family.GetName() == "pnyx_clickhouse_connections" {
					got[m.GetLabel()[0].GetValue()] = m.GetGauge().GetValue()
				}
			}
		}
		if got["busy"] != busy || got["idle"] == 0 {
			t.Errorf("got %v, want %v busy beside idle ones", got, busy)
		}
	}
	want(0)
	var releases []func() error
	for range 2 {
		release := env.Must(w.HoldConnection(t.Context()))(t)
		releases = append(releases, release)
	}
	// One is taken from the idle ones, or both are.
	env.MustDo(t, w.Ping(t.Context()))
	want(2)
	for _, release := range releases {
		env.WantError(t, nil, release())
	}
	want(0)
}

// A pulse that stays the same means that no table need be read. It must therefore change
// with every insert, also when a merge removes as many rows as were inserted.
func TestPulseChangesWithEveryCommit(t *testing.T) {
	t.Parallel()
	w, url := openURL(t)
	conn := raw(t, url)
	pulse := func() warehouse.Pulse {
		t.Helper()
		return env.Must(w.Pulse(t.Context(), 0))(t)
	}
	var told int
	w.OnCommit(func(context.Context) { told++ })
	run := records.Import{ID: uuid.New(), ObservedAt: time.Now().UTC().Truncate(time.Millisecond)}
	source := func(id string) record.Record {
		return &record.Source{SourceRef: record.SourceRef{Provider: governance.Snapshot, ID: id}, Name: id}
	}
	commit := func(id string) {
		t.Helper()
		env.Must(records.Append(t.Context(), w, run, []record.Record{source(id)}))(t)
	}
	commit("a.eth")
	before := pulse()
	if again := pulse(); !again.Quiet(before) || again.Now.Before(before.Now) {
		t.Errorf("got %+v after %+v, want it to be quiet", again, before)
	}
	commit("b.eth")
	mustExec(t, conn, "OPTIMIZE TABLE batches FINAL")
	after := pulse()
	if after.Quiet(before) {
		t.Errorf("got %+v after a commit and a merge, want another than %+v", after, before)
	}
	env.Want(t, 2, told, "told", "commits")
	mustExec(t, conn, "INSERT INTO token_revocations (token_id) VALUES ('a')")
	if got := pulse(); got.Quiet(after) {
		t.Errorf("got %+v after a revocation, want another than %+v", got, after)
	}
	if shared, err := w.Pulse(t.Context(), time.Hour); err != nil || shared.Quiet(after) {
		t.Errorf("got %+v, %v, want the last pulse that was read", shared, err)
	}
	if (warehouse.Pulse{}).Quiet(warehouse.Pulse{}) {
		t.Error("a warehouse that does not tell is quiet")
	}
}

func TestYieldingStatementsUseHalfOfTheThreadsAndEndTheirTurn(t *testing.T) {
	t.Parallel()
	w := open(t)
	all := env.Must(warehouse.ServerThreads(w, t.Context()))(t)
	yielding := warehouse.Yielding(t.Context())
	threads := func(ctx context.Context, want uint64) {
		t.Helper()
		ctx, cancel := context.WithTimeout(ctx, time.Minute) // a setting too
		defer cancel()
		env.Want(t, want, env.Must(warehouse.ServerThreads(w, ctx))(t), "threads")
	}
	threads(yielding, all)
	threads(warehouse.InBackground(t.Context()), 1)
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
