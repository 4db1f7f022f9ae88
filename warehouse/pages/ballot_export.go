package pages

import (
	"context"
	"encoding/hex"
	"fmt"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/shopspring/decimal"

	"pnyx/governance"
	"pnyx/warehouse"
	"pnyx/warehouse/record"
)

// PublishedBallots is what the last publication of a proposal says of its ballots.
type PublishedBallots struct {
	Votes uint64
	// Generation is the current sorted copy, of this publication or an earlier one; zero
	// where there is none, or where there are too few ballots for one.
	Generation uint64
}

// PublishedBallotsOf returns what is published of a proposal's ballots; zero for a proposal
// that was not published yet.
func PublishedBallotsOf(
	ctx context.Context, w *warehouse.Warehouse, ref record.RefHash, key governance.ProposalKey,
) (PublishedBallots, error) {
	found, err := warehouse.FindOne[PublishedBallots](ctx, w, fmt.Sprintf("find the sorted ballots of %s", key),
		sqlText("ballot_export_published"),
		clickhouse.Named("ref", hex.EncodeToString(ref[:])), clickhouse.Named("key", string(key)))
	if found.Votes < SortedCopyThreshold {
		found.Generation = 0
	}
	return found, err
}

// CopiedBallots are the totals of a sorted copy.
type CopiedBallots struct {
	// Votes is the number of ballots; zero where the copy is gone.
	Votes uint64
	Power decimal.Decimal
}

// CountCopiedBallots counts the ballots of a sorted copy.
func CountCopiedBallots(ctx context.Context, w *warehouse.Warehouse, generation uint64) (CopiedBallots, error) {
	return warehouse.FindOne[CopiedBallots](ctx, w, fmt.Sprintf("count the sorted ballots of generation %d", generation),
		"SELECT count() AS votes, sum(power) AS power FROM sorted_ballots WHERE generation = {generation:UInt64}",
		clickhouse.Named("generation", generation))
}

// ExportBallots returns one part of an export, by power: limit ballots in all but the last. A sorted copy is
// dropped as a whole: a part of one is complete, or empty where the copy is gone. Without a copy there is one
// part.
func ExportBallots(ctx context.Context, w *warehouse.Warehouse, at BallotSource, part, limit int) ([]LatestBallot, error) {
	order := byPower()
	if part == 1 || at.Generation == 0 {
		return ballotRange(ctx, w, at, order, "1", limit)
	}
	before := (part-1)*limit - 1
	last, err := warehouse.Find[keyset](ctx, w, "find a part of the sorted ballots", sqlText("ballot_export_position"),
		clickhouse.Named("generation", at.Generation), clickhouse.Named("before", before))
	if err != nil || len(last) == 0 {
		return nil, err
	}
	return ballotRange(ctx, w, at, order, order.beyond(), limit, last[0].args()...)
}
