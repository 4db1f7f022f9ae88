package warehouse

import (
	"context"
	"encoding/hex"
	"fmt"

	"github.com/ClickHouse/clickhouse-go/v2"
)

// rowsPerBallot is how many rows are read for each ballot of a first page: most voters
// have one row, repeated voters have more.
const rowsPerBallot = 4

// firstBallots reads a first page from the table without sorting all of it. A voter of the
// page has one of the first rows, superseded or not. The page has the ballots of these
// voters that count, down to the position of the last row read.
func (w *Warehouse) firstBallots(ctx context.Context, at BallotSource, order ballotOrder, limit int) ([]LatestBallot, error) {
	first, err := w.firstRows(ctx, at, order, rowsPerBallot*limit)
	if err != nil || len(first) == 0 {
		return nil, err
	}
	condition, args := "1", []any(nil)
	complete := len(first) < rowsPerBallot*limit
	if !complete {
		last := first[len(first)-1]
		condition, args = "("+order.column+", voter) >= ("+order.value+", {voter:String})", last.args()
	}
	page, err := w.ballotsOfVoters(ctx, at, order, condition, limit, first, args...)
	if err != nil || complete || len(page) == limit {
		return page, err
	}
	// Too many of the rows are superseded to fill the page.
	return w.ballotRange(ctx, at, order, "1", limit)
}

// firstRows returns the positions of the first rows, superseded ones included.
func (w *Warehouse) firstRows(ctx context.Context, at BallotSource, order ballotOrder, most int) ([]keyset, error) {
	return find[keyset](ctx, w, "read the first rows of ballots", fmt.Sprintf(sqlText("ballot_first_voters"), order.place, order.text),
		clickhouse.Named("ref", hex.EncodeToString(at.Ref[:])), clickhouse.Named("most", most), bindUnknownTime())
}

// ballotsOfVoters is ballotRange for the voters of the rows first.
func (w *Warehouse) ballotsOfVoters(
	ctx context.Context, at BallotSource, order ballotOrder, condition string, limit int, first []keyset, args ...any,
) ([]LatestBallot, error) {
	voters, err := externalTable("first_voters", first, func(row keyset) []any { return []any{row.Voter} }, textColumn("voter"))
	if err != nil {
		return nil, err
	}
	ofVoters := countingBallots("proposal_ref = unhex({ref:String}) AND voter IN (SELECT voter FROM first_voters)")
	sql := fmt.Sprintf(sqlText("ballot_page"), shownReason, "("+ofVoters+")", condition, order.column)
	return w.selectBallots(clickhouse.Context(ctx, clickhouse.WithExternalTable(voters)), sql, at, limit, args...)
}
