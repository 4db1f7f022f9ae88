package warehouse

import (
	"context"
	"fmt"

	"github.com/ClickHouse/clickhouse-go/v2"

	"pnyx/warehouse/record"
)

// DAOProposals returns the published proposals of a DAO.
func (w *Warehouse) DAOProposals(ctx context.Context, daoID string) ([]record.RefHash, error) {
	rows, err := w.conn.Query(ctx, sqlText("range_voters_proposals"), clickhouse.Named("dao", daoID))
	return selectRows[record.RefHash](rows, err, "list the proposals of DAO "+daoID)
}

// DAORangeStarts is RangeStarts for the voters of a DAO's published proposals.
func (w *Warehouse) DAORangeStarts(ctx context.Context, daoID string, size uint64) ([]string, error) {
	return w.rangeStarts(ctx, "divide the voters of DAO "+daoID,
		"proposal_ref GLOBAL IN ("+sqlText("range_voters_proposals")+")", clickhouse.Named("dao", daoID), size)
}

// RangeParticipation returns the participation of some ranges of a DAO's voters, in the order
// of the ranges. The ranges are in order and do not overlap.
func (w *Warehouse) RangeParticipation(ctx context.Context, daoID string, ranges []VoterRange) ([]Participation, error) {
	type row struct {
		// Place is the range's place.
		Place uint64
		Participation
	}
	condition, args := voterCondition(ranges)
	rows, err := w.conn.Query(ctx, fmt.Sprintf(sqlText("range_voters"), placeOfVoter, condition),
		append(args, clickhouse.Named("dao", daoID))...)
	found, err := selectRows[row](rows, err, fmt.Sprintf("count %d ranges of the voters of DAO %s", len(ranges), daoID))
	if err != nil {
		return nil, err
	}
	counted := make([]Participation, len(ranges))
	for _, r := range found {
		counted[rangeAt(ranges, r.Place)] = r.Participation
	}
	return counted, nil
}

// SumParticipation returns the participation of ranges that do not overlap, together.
func SumParticipation(parts []Participation) (sum Participation) {
	for _, part := range parts {
		sum.UniqueVoters += part.UniqueVoters
		sum.Votes += part.Votes
	}
	return sum
}
