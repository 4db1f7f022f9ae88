package warehouse

import (
	"context"
	"fmt"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/ext"

	"pnyx/warehouse/record"
)

// maxSharedCasts is the maximum number of stored ballots of a proposal whose pages are read
// together with others: its ballots are read completely.
const maxSharedCasts = 20_000

// hasFewCasts selects the ballots of proposals with at most maxSharedCasts.
const hasFewCasts = `proposal_ref GLOBAL IN (
        SELECT proposal_ref
        FROM ballots
        WHERE proposal_ref IN (SELECT proposal_ref FROM wanted_pages)
        GROUP BY proposal_ref
        HAVING count() <= {most:UInt64}
    )`

// ballotRequest is a page of a proposal's ballots in the table itself, after a position.
type ballotRequest struct {
	ref   record.RefHash
	after *keyset
}

// smallBallotPages reads pages of several proposals with one statement. The page is nil for
// a proposal that has too many ballots, or none.
func (w *Warehouse) smallBallotPages(
	ctx context.Context, order ballotOrder, limit int, requests []ballotRequest,
) ([][]LatestBallot, error) {
	type row struct {
		Page uint32
		LatestBallot
	}
	page := uint32(0)
	wanted, err := externalTable("wanted_pages", requests, func(r ballotRequest) []any {
		after := keyset{Text: order.zero}
		if r.after != nil {
			after = *r.after
		}
		page++
		return []any{page - 1, string(r.ref[:]), r.after == nil, after.Text, after.Voter}
	}, ext.Column("page", "UInt32"), ext.Column("proposal_ref", "FixedString(16)"), ext.Column("first", "Bool"),
		textColumn("after_value"), textColumn("after_voter"))
	result, err := w.queryWith(ctx, wanted, err, fmt.Sprintf(sqlText("ballot_set"), order.column, order.after, countingBallots(hasFewCasts)),
		clickhouse.Named("limit", limit), clickhouse.Named("most", maxSharedCasts), bindUnknownTime())
	rows, err := selectRows[row](result, err, "read pages of ballots")
	pages := make([][]LatestBallot, len(requests))
	for _, r := range rows {
		pages[r.Page] = append(pages[r.Page], r.LatestBallot)
	}
	return pages, err
}
