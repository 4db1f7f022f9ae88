package warehouse

import (
	"context"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/ClickHouse/clickhouse-go/v2"

	"pnyx/warehouse/record"
)

// VoterRange is a range of voters in the order of their identities: From is its first, and
// Until is the first of the next range, or empty.
type VoterRange struct{ From, Until string }

// RangesOf returns the ranges that begin with starts, preceded by the first one.
func RangesOf(starts []string) []VoterRange {
	ranges := make([]VoterRange, len(starts)+1)
	for i, start := range starts {
		ranges[i].Until, ranges[i+1].From = start, start
	}
	return ranges
}

// RangeStarts returns the voters that begin ranges of a proposal's voters, in order, with
// size voters on average; size is a power of two. The first range begins before all voters,
// and is not among them.
func (w *Warehouse) RangeStarts(ctx context.Context, ref record.RefHash, size uint64) ([]string, error) {
	rows, err := w.conn.Query(ctx, sqlText("range_totals_starts"),
		clickhouse.Named("ref", hex.EncodeToString(ref[:])), clickhouse.Named("mask", size-1))
	return selectRows[string](rows, err, "divide the voters of a proposal")
}

// RangeTotals returns the vote totals of some ranges of a proposal's voters, in the order
// of the ranges. The ranges are in order and do not overlap.
func (w *Warehouse) RangeTotals(
	ctx context.Context, ref record.RefHash, ranges []VoterRange,
) ([]VoteTotals, error) {
	condition, args := voterCondition(ranges)
	condition = "proposal_ref = unhex({ref:String}) AND (" + condition + ")"
	args = append(args, clickhouse.Named("ref", hex.EncodeToString(ref[:])))
	// The totals of ranges are those of proposals, by another key.
	sql := fmt.Sprintf(strings.ReplaceAll(sqlText("vote_totals"), "proposal_ref", "place"),
		fmt.Sprintf(sqlText("counted_ballots_merged"), rangeOfVoter, condition))
	rows, err := w.conn.Query(ctx, sql, args...)
	found, err := selectRows[rangeTotalsRow](rows, err, fmt.Sprintf("count the ballots of %d ranges of voters", len(ranges)))
	if err != nil {
		return nil, err
	}
	totals := make([]VoteTotals, len(ranges))
	for _, r := range found {
		totals[r.Place-1] = r.totals()
	}
	return totals, nil
}

// rangeOfVoter is the place of a voter's range, from 1.
const rangeOfVoter = "arrayLastIndex(start -> start <= voter, {starts:Array(String)}) AS place"

type rangeTotalsRow struct {
	// Place is that of the range, from 1.
	Place uint32
	voteTotalsRow
}

// voterCondition returns the condition that a voter is in one of the ranges, as ranges of the
// primary key, with their parameters. It names each bound, so that each is bound.
func voterCondition(ranges []VoterRange) (condition string, args []any) {
	alternatives, starts := make([]string, len(ranges)), make([]string, len(ranges))
	for i, r := range ranges {
		from, until := fmt.Sprintf("from_%d", i), fmt.Sprintf("until_%d", i)
		starts[i], alternatives[i] = r.From, "voter >= {"+from+":String}"
		args = append(args, clickhouse.Named(from, r.From))
		if r.Until != "" {
			alternatives[i] += " AND voter < {" + until + ":String}"
			args = append(args, clickhouse.Named(until, r.Until))
		}
	}
	return strings.Join(alternatives, " OR "), append(args, clickhouse.Named("starts", starts))
}
