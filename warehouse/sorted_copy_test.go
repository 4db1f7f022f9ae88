package warehouse_test

import (
	"fmt"
	"testing"

	"github.com/ClickHouse/clickhouse-go/v2"

	"pnyx/governance/query"
	"pnyx/warehouse"
	"pnyx/warehouse/record"
)

// copied is how many ballots the copy has, and asked how many the page.
const copied, asked = 20_000, 10

// TestPageInMiddleOfSortedCopyReadsFewRows also where all ballots are equal but for the
// voter, in either order.
func TestPageInMiddleOfSortedCopyReadsFewRows(t *testing.T) {
	t.Parallel()
	const generation = 1
	w := open(t)
	votedAt := at("2026-01-01T00:00:00Z")
	records := make([]record.Record, copied)
	for i := range records {
		voter := voterNumber(i)
		records[i] = ballot("equal", voter, voter, "1", "1.5", votedAt)
	}
	appendAll(t, w, records...)
	order := warehouse.SortedCopy{Kind: warehouse.BallotCopy, Subject: "equal", Ref: ref("equal").Hash()}
	if err := w.BuildSortedCopy(t.Context(), order, generation); err != nil {
		t.Fatal(err)
	}

	var read uint64
	ctx := clickhouse.Context(t.Context(), clickhouse.WithProgress(func(p *clickhouse.Progress) { read += p.Rows }))
	place, middle := warehouse.BallotSource{Ref: order.Ref, Generation: generation}, voterNumber(copied/2)
	byPower, err := w.ListBallots(ctx, place, query.Ballots{Order: query.BallotsByPower, Paging: query.Paging[query.BallotPosition]{
		After: &query.BallotPosition{Power: "1.5", Voter: middle}, Limit: asked,
	}})
	checkMiddle(t, "power", byPower, err, read)
	read = 0
	byTime, err := w.ListBallots(ctx, place, query.Ballots{Order: query.BallotsByTime, Paging: query.Paging[query.BallotPosition]{
		After: &query.BallotPosition{At: votedAt, Voter: middle}, Limit: asked,
	}})
	checkMiddle(t, "time", byTime, err, read)
}

func voterNumber(i int) string { return fmt.Sprintf("0x%06d", i) }

// checkMiddle wants the voters before the one in the middle, without reading all.
func checkMiddle(t *testing.T, order string, page []warehouse.LatestBallot, err error, read uint64) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	if len(page) != asked || page[0].VoterIdentity != voterNumber(copied/2-1) || page[asked-1].VoterIdentity != voterNumber(copied/2-asked) {
		t.Errorf("by %s: got %v", order, page)
	}
	if read == 0 || read > copied/4 {
		t.Errorf("by %s: read %d of %d rows for %d", order, read, copied, asked)
	}
}
