package pages

import (
	"context"
	"encoding/hex"
	"fmt"

	"github.com/ClickHouse/clickhouse-go/v2"

	"pnyx/warehouse"
)

// firstBallots reads a first page from the table without sorting all of it. A voter of the
// page has one of the first rows, superseded or not. The page has the ballots of these
// voters that count, down to the position of the last row read.
func firstBallots(ctx context.Context, w *warehouse.Warehouse, at BallotSource, order ballotOrder, limit int) ([]LatestBallot, error) {
	const rowsPerBallot = 4 // how many rows are read for each ballot of a first page: most voters have one row, repeated voters have more
	first, err := firstRows(ctx, w, at, order, rowsPerBallot*limit)
	if err != nil || len(first) == 0 {
		return nil, err
	}
	condition, args := "1", []any(nil)
	complete := len(first) < rowsPerBallot*limit
	if !complete {
		last := first[len(first)-1]
		condition, args = "("+order.column+", voter) >= ("+order.value+", {voter:String})", last.args()
	}
	page, err := ballotsOfVoters(ctx, w, at, order, condition, limit, first, args...)
	if err != nil || complete || len(page) == limit {
		return page, err
	}
	// Too many of the rows are superseded to fill the page.
	return ballotRange(ctx, w, at, order, "1", limit)
}

// firstRows returns the positions of the first rows, superseded ones included.
func firstRows(ctx context.Context, w *warehouse.Warehouse, at BallotSource, order ballotOrder, most int) ([]keyset, error) {
	return warehouse.Find[keyset](ctx, w, "read the first rows of ballots", fmt.Sprintf(sqlText("ballot_first_voters"), order.place, order.text),
		clickhouse.Named("ref", hex.EncodeToString(at.Ref[:])), clickhouse.Named("most", most), warehouse.BindUnknownTime())
}

// ballotsOfVoters is ballotRange for the voters of the rows first.
func ballotsOfVoters(
	ctx context.Context, w *warehouse.Warehouse, at BallotSource, order ballotOrder, condition string, limit int, first []keyset, args ...any,
) ([]LatestBallot, error) {
	voters, err := warehouse.ExternalTable("first_voters", first, func(row keyset) []any { return []any{row.Voter} }, warehouse.TextColumn("voter"))
	if err != nil {
		return nil, err
	}
	ofVoters := countingBallots("proposal_ref = unhex({ref:String}) AND voter IN (SELECT voter FROM first_voters)")
	sql := fmt.Sprintf(sqlText("ballot_page"), shownReason, "("+ofVoters+")", condition, order.column)
	return selectBallots(clickhouse.Context(ctx, clickhouse.WithExternalTable(voters)), w, sql, at, limit, args...)
}
