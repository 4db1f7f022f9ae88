package counts

import (
	"cmp"
	"context"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"pnyx/warehouse"
	"pnyx/warehouse/record"
)

// VoterRange is a range of voters in the order of their identities: those from From on and before
// Until, which is empty for no bound. Both are beginnings of identities, of rangeBytes at most.
type VoterRange struct{ From, Until string }

// rangeBytes is how much of an identity decides which range a voter is in: the server finds the
// range by number, in a binary search. Of texts it could only compare each with each.
const rangeBytes = 8

// RangesOf returns the ranges that begin with starts, preceded by the first one.
func RangesOf(starts []string) []VoterRange {
	ranges := make([]VoterRange, len(starts)+1)
	for i, start := range starts {
		ranges[i].Until, ranges[i+1].From = start, start
	}
	return ranges
}

// RangeStarts returns where ranges of a proposal's voters begin, in order, with size voters on
// average, or more where many begin alike; size is a power of two. The first range begins before
// all voters, and is not among them.
func RangeStarts(ctx context.Context, w *warehouse.Warehouse, ref record.RefHash, size uint64) ([]string, error) {
	return rangeStarts(ctx, w, "divide the voters of a proposal",
		"proposal_ref = unhex({ref:String})", clickhouse.Named("ref", hex.EncodeToString(ref[:])), size)
}

// rangeStarts is RangeStarts for the ballots that satisfy a condition on a subject. operation
// begins every error.
func rangeStarts(
	ctx context.Context, w *warehouse.Warehouse, operation, condition string, subject driver.NamedValue, size uint64,
) ([]string, error) {
	return warehouse.Find[string](ctx, w, operation, fmt.Sprintf(sqlText("range_totals_starts"), condition),
		subject, clickhouse.Named("mask", size-1), clickhouse.Named("bytes", rangeBytes))
}

// RangeTotals returns the vote totals of some ranges of a proposal's voters, in the order
// of the ranges. The ranges are in order and do not overlap.
func RangeTotals(ctx context.Context, w *warehouse.Warehouse, ref record.RefHash, ranges []VoterRange) ([]VoteTotals, error) {
	condition, args := voterCondition(ranges)
	condition = "proposal_ref = unhex({ref:String}) AND (" + condition + ")"
	args = append(args, clickhouse.Named("ref", hex.EncodeToString(ref[:])))
	// The totals of ranges are totals of proposals, by another key.
	sql := fmt.Sprintf(strings.ReplaceAll(sqlText("vote_totals"), "proposal_ref", "place"),
		fmt.Sprintf(sqlText("counted_ballots_merged"), placeOfVoter, sqlText("counted_ballots_form"), condition))
	found, err := warehouse.FindBy[uint64, voteTotalsRow](ctx, w, fmt.Sprintf("count the ballots of %d ranges of voters", len(ranges)), sql, args...)
	totals := make([]VoteTotals, len(ranges))
	for place, r := range found {
		totals[rangeAt(ranges, place)] = r.totals()
	}
	return totals, err
}

// placeOfVoter is the place of a voter's range among {places}.
const placeOfVoter = "roundDown(reinterpretAsUInt64(reverse(toFixedString(substring(voter, 1, {bytes:UInt8}), {bytes:UInt8})))," +
	" {places:Array(UInt64)}) AS place"

// place returns where a range begins, as a number: ranges and numbers have the same order.
func (r VoterRange) place() uint64 {
	var begins [rangeBytes]byte
	copy(begins[:], r.From)
	return binary.BigEndian.Uint64(begins[:])
}

func rangeAt(ranges []VoterRange, place uint64) int {
	i, _ := slices.BinarySearchFunc(ranges, place, func(r VoterRange, place uint64) int { return cmp.Compare(r.place(), place) })
	return i
}

// voterCondition returns the condition that a voter is in one of the ranges, as ranges of the
// primary key, with its parameters and placeOfVoter's. It names each bound, so that each is bound.
func voterCondition(ranges []VoterRange) (condition string, args []any) {
	places := warehouse.Values(ranges, VoterRange.place)
	args = []any{clickhouse.Named("places", places), clickhouse.Named("bytes", rangeBytes)}
	var alternatives []string
	for i, r := range joined(ranges) {
		from, until := fmt.Sprintf("from_%d", i), fmt.Sprintf("until_%d", i)
		alternative := "voter >= {" + from + ":String}"
		args = append(args, clickhouse.Named(from, r.From))
		if r.Until != "" {
			alternative += " AND voter < {" + until + ":String}"
			args = append(args, clickhouse.Named(until, r.Until))
		}
		alternatives = append(alternatives, alternative)
	}
	return strings.Join(alternatives, " OR "), args
}

// joined returns ranges with those that have no gap between them as one.
func joined(ranges []VoterRange) (all []VoterRange) {
	for _, r := range ranges {
		if last := len(all) - 1; last >= 0 && all[last].Until == r.From {
			all[last].Until = r.Until
			continue
		}
		all = append(all, r)
	}
	return all
}

// DAOProposals returns the published proposals of a DAO.
func DAOProposals(ctx context.Context, w *warehouse.Warehouse, daoID string) ([]record.RefHash, error) {
	return warehouse.Find[record.RefHash](ctx, w, "list the proposals of DAO "+daoID, sqlText("range_totals_voters_proposals"),
		clickhouse.Named("dao", daoID))
}

// DAORangeStarts is RangeStarts for the voters of a DAO's published proposals.
func DAORangeStarts(ctx context.Context, w *warehouse.Warehouse, daoID string, size uint64) ([]string, error) {
	return rangeStarts(ctx, w, "divide the voters of DAO "+daoID,
		"proposal_ref GLOBAL IN ("+sqlText("range_totals_voters_proposals")+")", clickhouse.Named("dao", daoID), size)
}

// RangeParticipation is RangeTotals for the participation of a DAO's voters.
func RangeParticipation(ctx context.Context, w *warehouse.Warehouse, daoID string, ranges []VoterRange) ([]Participation, error) {
	condition, args := voterCondition(ranges)
	found, err := warehouse.FindBy[uint64, Participation](ctx, w, fmt.Sprintf("count %d ranges of the voters of DAO %s", len(ranges), daoID),
		fmt.Sprintf(sqlText("range_totals_voters"), placeOfVoter, condition),
		append(args, clickhouse.Named("dao", daoID))...)
	counted := make([]Participation, len(ranges))
	for place, participation := range found {
		counted[rangeAt(ranges, place)] = participation
	}
	return counted, err
}

// SumParticipation returns the participation of ranges that do not overlap, together.
func SumParticipation(parts []Participation) (sum Participation) {
	for _, part := range parts {
		sum.UniqueVoters += part.UniqueVoters
		sum.Votes += part.Votes
	}
	return sum
}
