package counts

import (
	"context"
	"fmt"
	"maps"

	"github.com/shopspring/decimal"

	"pnyx/governance"
	"pnyx/warehouse"
	"pnyx/warehouse/record"
)

// VoteTotals sums the ballots of one proposal that count: the latest of each voter.
type VoteTotals struct {
	Votes uint64
	// Power is the voting power of all ballots, SupportingPower of the ballots that support a choice.
	Power           decimal.Decimal `ch:"total_power"`
	SupportingPower decimal.Decimal
	// Choices has what each choice received, by key: the number of ballots that support
	// it, and the sum of the powers (of weighted ballots: the shares) that they give it.
	Choices map[string]governance.Score `ch:"-"`
	// Forms counts the ballots of each form but that of one choice, and those that are Malformed.
	Forms map[string]uint64 `ch:"-"`
	// RootSums has, by choice, the sum of the square roots of the shares of weighted ballots.
	RootSums map[string]decimal.Decimal `ch:"-"`
	// LastVotedAt is the latest known time of a ballot; nil for none.
	LastVotedAt *governance.Timestamp
	// Undated counts ballots without a time, DayOnly those with a day alone, and Rounded
	// those with more decimal places upstream.
	Undated, DayOnly, Rounded uint64
	// VotedIn counts the ballots with a known time by month.
	VotedIn map[Month]uint64 `ch:"-"`
	// ObservedAt is when the import of the newest ballot began.
	ObservedAt governance.Timestamp `ch:"last_observed_at"`
	// Recast reports whether a voter voted more than once.
	Recast bool `ch:"recasts"`
}

// VoteTotalsOf returns the vote totals of the proposals. Proposals without ballots are missing.
func VoteTotalsOf(ctx context.Context, w *warehouse.Warehouse, refs []record.RefHash) (map[record.RefHash]VoteTotals, error) {
	totals, err := counted(ctx, w, "vote_totals", refs, findVoteTotals)
	if err != nil {
		return nil, fmt.Errorf("count the ballots of %d proposals: %w", len(refs), err)
	}
	return totals, nil
}

// MergedTotals counts ballots in the merged table.
func MergedTotals(ctx context.Context, w *warehouse.Warehouse, refs []record.RefHash) (map[record.RefHash]VoteTotals, error) {
	return merged(ctx, w, "vote_totals", refs, findVoteTotals)
}

// voteTotalsRow is a row of vote_totals.sql without its key.
type voteTotalsRow struct {
	VoteTotals
	VoteKeys, PowerKeys, RootKeys []string
	ChoiceVotes                   []uint64
	ChoicePowers, ChoiceRoots     []decimal.Decimal
	VotedMonths                   []uint32
	VotedCounts                   []uint64
	Single                        uint64
}

// Malformed are ballots that name what can be no choice, or a choice twice.
const Malformed = "malformed"

func (r voteTotalsRow) totals() VoteTotals {
	t := r.VoteTotals
	t.Choices, t.RootSums, t.Forms = map[string]governance.Score{}, map[string]decimal.Decimal{}, map[string]uint64{}
	t.VotedIn = joinMonths(r.VotedMonths, r.VotedCounts)
	for i, key := range r.VoteKeys {
		t.Choices[key] = governance.Score{Votes: r.ChoiceVotes[i]}
	}
	for i, key := range r.PowerKeys {
		t.Choices[key] = governance.Score{Votes: t.Choices[key].Votes, Power: r.ChoicePowers[i]}
	}
	for _, form := range []string{Malformed, string(governance.ListForm), string(governance.WeightsForm)} {
		if score, has := t.Choices[form]; has {
			t.Forms[form] = score.Votes
			delete(t.Choices, form)
		}
	}
	for i, key := range r.RootKeys {
		t.RootSums[key] = r.ChoiceRoots[i]
	}
	return t
}

// findVoteTotals is countedRows for the totals.
func findVoteTotals(ctx context.Context, w *warehouse.Warehouse, sql string, tables ...any) (
	totals map[record.RefHash]VoteTotals, single map[record.RefHash]uint64, _ error,
) {
	rows, err := warehouse.FindBy[record.RefHash, voteTotalsRow](ctx, w, "read vote totals", sql, tables...)
	totals, single = make(map[record.RefHash]VoteTotals, len(rows)), make(map[record.RefHash]uint64, len(rows))
	for ref, r := range rows {
		totals[ref], single[ref] = r.totals(), r.Single
	}
	return totals, single, err
}

// SumTotals returns the totals of sets of voters that have no voter in common.
func SumTotals(parts []VoteTotals) VoteTotals {
	sum := VoteTotals{
		Choices: map[string]governance.Score{}, RootSums: map[string]decimal.Decimal{}, VotedIn: map[Month]uint64{},
		Forms: map[string]uint64{},
	}
	for _, part := range parts {
		sum.Votes += part.Votes
		sum.Power = sum.Power.Add(part.Power)
		sum.SupportingPower = sum.SupportingPower.Add(part.SupportingPower)
		for key, score := range part.Choices {
			before := sum.Choices[key]
			sum.Choices[key] = governance.Score{Votes: before.Votes + score.Votes, Power: before.Power.Add(score.Power)}
		}
		for key, root := range part.RootSums {
			sum.RootSums[key] = sum.RootSums[key].Add(root)
		}
		for month, votes := range part.VotedIn {
			sum.VotedIn[month] += votes
		}
		sum.LastVotedAt = governance.Later(sum.LastVotedAt, part.LastVotedAt)
		for form, votes := range part.Forms {
			sum.Forms[form] += votes
		}
		sum.Undated += part.Undated
		sum.DayOnly += part.DayOnly
		sum.Rounded += part.Rounded
		sum.ObservedAt = max(sum.ObservedAt, part.ObservedAt)
		sum.Recast = sum.Recast || part.Recast
	}
	return sum
}

// Support adds what a group of ballots gives to its choices to a total that counts their votes.
func (t *VoteTotals) Support(group governance.Ranking) {
	t.SupportingPower = t.SupportingPower.Add(group.Power)
	for i, key := range group.Choices {
		given, before := group.Power, t.Choices[key]
		if group.Shares != nil {
			given = group.Shares[i]
		}
		if group.Roots != nil {
			t.RootSums[key] = t.RootSums[key].Add(group.Roots[i])
		}
		t.Choices[key] = governance.Score{Votes: before.Votes + group.Votes, Power: before.Power.Add(given)}
	}
}

// Equal reports whether two totals are the same, to the last digit.
func (t VoteTotals) Equal(other VoteTotals) bool {
	sameTime := func(a, b *governance.Timestamp) bool { return a == b || a != nil && b != nil && *a == *b }
	sameScore := func(a, b governance.Score) bool { return a.Votes == b.Votes && a.Power.Equal(b.Power) }
	return t.Votes == other.Votes && t.Power.Equal(other.Power) && t.SupportingPower.Equal(other.SupportingPower) &&
		maps.EqualFunc(t.Choices, other.Choices, sameScore) &&
		maps.EqualFunc(t.RootSums, other.RootSums, decimal.Decimal.Equal) &&
		sameTime(t.LastVotedAt, other.LastVotedAt) && maps.Equal(t.Forms, other.Forms) &&
		t.Undated == other.Undated && t.DayOnly == other.DayOnly && t.Rounded == other.Rounded &&
		maps.Equal(t.VotedIn, other.VotedIn) && t.ObservedAt == other.ObservedAt && t.Recast == other.Recast
}
