package warehouse_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/shopspring/decimal"

	"pnyx/governance"
	"pnyx/warehouse"
	"pnyx/warehouse/record"
)

func TestStoredVotersGetTheSpellingOfTheirIdentity(t *testing.T) {
	t.Parallel()
	const short, padded = "0x57a157a157a157a157a157a157a157a157a157a157a157a157a157a157a19bc",
		"0x057a157a157a157a157a157a157a157a157a157a157a157a157a157a157a19bc"
	w, url := openURL(t)
	cast := func(proposal, vote, voter string, at governance.Timestamp) *record.Ballot {
		return &record.Ballot{
			Proposal: record.ProposalRef{Provider: governance.Snapshot, ExternalID: proposal}, VoteID: vote, Voter: voter,
			Power: decimal.NewFromInt(60), Choices: []string{"1"}, ChoiceKey: "1", RawChoice: "1", VotedAt: &at,
		}
	}
	if _, err := w.Append(t.Context(), newRun(), []record.Record{
		cast("0x1", "a", short, 1000), cast("0x1", "b", padded, 2000), cast("0x2", "c", short, 1000), cast("0x2", "d", "0xfeed", 1000),
	}); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := warehouse.MigrateWith(t.Context(), warehouse.Options{URL: url}, warehouse.MigrationFiles, math.MaxInt); err != nil {
			t.Fatal(err)
		}
		var votes []struct{ Vote string }
		if err := raw(t, url).Select(t.Context(), &votes, "SELECT concat(vote_id, ' ', voter) AS Vote FROM latest_ballots ORDER BY vote_id"); err != nil {
			t.Fatal(err)
		}
		if got, want := fmt.Sprint(votes), "[{b "+padded+"} {c "+padded+"} {d 0xfeed}]"; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
