package warehouse_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pnyx/warehouse"
	"pnyx/warehouse/record"
)

// TestWrittenKeysChangeNoCount appends the same batches with and without a memory of what was
// written, to proposals that had ballots before and to new ones: repeats, changes and crashes
// among them.
func TestWrittenKeysChangeNoCount(t *testing.T) {
	t.Parallel()
	for name, most := range map[string]int{"everything is remembered": 1000, "little is remembered": 10} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			random := rand.New(rand.NewPCG(7, 11))
			plain, remembering := open(t), open(t)
			before := randomBallots(random, 2)
			appendAll(t, plain, before...)
			appendAll(t, remembering, before...)
			run := newRun()
			remembered := run
			remembered.Written = warehouse.NewWrittenKeys()
			remembered.Written.SetMax(most)
			for i := range 30 {
				batch := randomBallots(random, 5)
				want, err := plain.Append(t.Context(), run, batch)
				if err != nil {
					t.Fatal(err)
				}
				got, err := remembering.Append(t.Context(), remembered, batch)
				if err != nil || got != want {
					t.Fatalf("batch %d: got %+v (%v), want %+v", i, got, err, want)
				}
			}
			for p := range 5 {
				proposal := fmt.Sprint("p", p)
				if diff := cmp.Diff(tally(t, plain, proposal), tally(t, remembering, proposal)); diff != "" {
					t.Errorf("totals of %s (-without +with memory):\n%s", proposal, diff)
				}
			}
		})
	}
}

// randomBallots returns some ballots on so many proposals, of few voters and choices.
func randomBallots(random *rand.Rand, proposals int) (ballots []record.Record) {
	for range 1 + random.IntN(12) {
		proposal, voter := fmt.Sprint("p", random.IntN(proposals)), fmt.Sprint("0x", random.IntN(6))
		choice := fmt.Sprint(1 + random.IntN(2))
		ballots = append(ballots, ballot(proposal, voter, "vote of "+voter, choice, "1.5", nil))
	}
	return ballots
}

// The ballots of a batch may be stored although its Append failed: the next attempt looks
// them up.
func TestWrittenKeysLookUpABatchThatFailed(t *testing.T) {
	t.Parallel()
	w, url := openURL(t)
	conn := raw(t, url)
	table := string(record.KindEvent)
	if err := conn.Exec(t.Context(), "ALTER TABLE "+table+" ADD CONSTRAINT crash CHECK 0"); err != nil {
		t.Fatal(err)
	}
	run := newRun()
	run.Written = warehouse.NewWrittenKeys()
	records := []record.Record{
		ballot("p", "0xa", "v1", "1", "1", nil), &record.Event{ID: "e", Type: "proposal.created", At: *at("2026-01-01T00:00:00Z")},
	}
	if _, err := w.Append(t.Context(), run, records); err == nil {
		t.Fatal("got no error, want that of the event")
	}
	if err := conn.Exec(t.Context(), "ALTER TABLE "+table+" DROP CONSTRAINT crash"); err != nil {
		t.Fatal(err)
	}
	got, err := w.Append(t.Context(), run, records)
	if want := (warehouse.Counts{New: 1, Unchanged: 1}); err != nil || got != want {
		t.Errorf("got %+v (%v), want %+v", got, err, want)
	}
}
