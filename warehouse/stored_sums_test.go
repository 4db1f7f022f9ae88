package warehouse_test

import (
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/shopspring/decimal"

	"pnyx/governance"
	"pnyx/warehouse"
	"pnyx/warehouse/counts"
	"pnyx/warehouse/record"
)

// What is read back of ballots of every shape equals what was counted, to the last digit.
func TestStoredTotalsEqualCountedOnes(t *testing.T) {
	t.Parallel()
	w := open(t)
	random := rand.New(rand.NewPCG(3, 4))
	records := make([]record.Record, 0, 400)
	for range cap(records) {
		records = append(records, anyBallot(t, random))
	}
	appendAll(t, w, records...)
	refs := []record.RefHash{ref("p0").Hash(), ref("p1").Hash(), ref("p2").Hash(), ref("without ballots").Hash()}
	counted, err := counts.VoteTotalsOf(t.Context(), w, refs)
	if err != nil {
		t.Fatal(err)
	}
	for _, which := range []string{"counted", "read back"} {
		stored, err := counts.StoredVoteTotals(t.Context(), w, refs)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(counted, stored); diff != "" {
			t.Errorf("%s totals (-want +got):\n%s", which, diff)
		}
	}
}

// A count is not repeated until a ballot comes, is cast again, corrected or withdrawn, or rows
// are merged; and then for these proposals and DAOs alone.
func TestStoredSumsAreOfTheBallotsAsTheyAre(t *testing.T) {
	t.Parallel()
	w, url := openURL(t)
	conn := raw(t, url)
	run := func(statement string) {
		if err := conn.Exec(t.Context(), statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
	publishInDAOs(t, w, map[string]string{"changing": "dao", "still": "other"})
	appendAll(t, w, ballot("changing", "0xa", "v1", "1", "1", nil), ballot("still", "0xa", "v2", "1", "1", nil))
	changing, still := ref("changing").Hash(), ref("still").Hash()
	withdrawn := ballot("changing", "0xb", "v3", "1", "4", nil)
	withdrawn.Withdrawn = true
	for _, step := range []struct {
		name   string
		change func()
		votes  uint64
		power  int64
	}{
		{"first", func() {}, 1, 1},
		{"another voter", func() { appendAll(t, w, ballot("changing", "0xb", "v3", "1", "2", nil)) }, 2, 3},
		{"a correction", func() { appendAll(t, w, ballot("changing", "0xb", "v3", "1", "4", nil)) }, 2, 5},
		{"a recast", func() { appendAll(t, w, ballot("changing", "0xa", "v4", "1", "8", at("2026-01-01T00:00:00Z"))) }, 2, 12},
		{"merged parts", func() { run("OPTIMIZE TABLE ballots FINAL") }, 2, 12},
		{"a withdrawal", func() { appendAll(t, w, withdrawn) }, 1, 8},
	} {
		step.change()
		totals, err := counts.StoredVoteTotals(t.Context(), w, []record.RefHash{changing, still})
		if err != nil {
			t.Fatal(err)
		}
		if got := totals[changing]; got.Votes != step.votes || !got.Power.Equal(decimal.NewFromInt(step.power)) {
			t.Errorf("%s: got %d votes of %s, want %d of %d", step.name, got.Votes, got.Power, step.votes, step.power)
		}
		participation, err := counts.StoredParticipation(t.Context(), w, []string{"dao", "other"})
		if want := (counts.Participation{UniqueVoters: step.votes, Votes: step.votes}); err != nil || participation["dao"] != want {
			t.Errorf("%s: got %+v (%v), want %+v", step.name, participation["dao"], err, want)
		}
		if step.name == "first" {
			// Marks what is read back.
			run("ALTER TABLE vote_totals UPDATE votes = 1000 WHERE 1 SETTINGS mutations_sync = 1")
			run("ALTER TABLE participation UPDATE votes = 1000 WHERE 1 SETTINGS mutations_sync = 1")
			continue
		}
		if totals[still].Votes != 1000 || participation["other"].Votes != 1000 {
			t.Errorf("%s: counted %d votes and %+v again, want what was stored", step.name, totals[still].Votes, participation["other"])
		}
	}
}

// publishInDAOs gives proposals their DAOs, as a publication does.
func publishInDAOs(t *testing.T, w *warehouse.Warehouse, daoOf map[string]string) {
	t.Helper()
	var states []counts.ProposalState
	for name, dao := range daoOf {
		states = append(states, counts.ProposalState{
			Ref: ref(name).Hash(), Key: governance.ProposalKey(name), Power: decimal.Zero, Revision: 1,
			Identity: governance.Identity{DAOID: dao, Provider: governance.Snapshot, ExternalID: name},
		})
	}
	writeStates(t, w, states...)
}
