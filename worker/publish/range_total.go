package publish

import (
	"context"
	"maps"
	"slices"

	"pnyx/governance"
	"pnyx/warehouse"
	"pnyx/warehouse/record"
)

const (
	// votersPerRange is the mean number of voters in a range of a proposal or DAO; a power of
	// two. A range of a proposal is one or two granules to read, and a proposal of 20 million
	// ballots has some 5,000 ranges to add up.
	votersPerRange = 4096
	// rangesPerStatement bounds the ranges that one statement counts.
	rangesPerStatement = 128
)

// voteTotals returns the vote totals of proposals: of large ones from the ranges that
// changed are counted, and of all others all ballots.
func (p *Publisher) voteTotals(
	ctx context.Context, refs []record.RefHash,
) (map[record.RefHash]warehouse.VoteTotals, error) {
	ranged := map[record.RefHash]warehouse.VoteTotals{}
	var whole []record.RefHash
	for _, ref := range refs {
		sum, ok, err := p.totals.total(ref, func(ranges []warehouse.VoterRange) ([]warehouse.VoteTotals, error) {
			return countRanges(ranges, rangesPerStatement, func(some []warehouse.VoterRange) ([]warehouse.VoteTotals, error) {
				return p.Warehouse.RangeTotals(ctx, ref, some)
			})
		})
		if err != nil {
			return nil, err
		}
		if ok {
			ranged[ref] = sum
			p.metrics.ranged.Inc()
		} else {
			whole = append(whole, ref)
		}
	}
	if len(whole) == 0 {
		return ranged, nil
	}
	totals, err := p.Warehouse.VoteTotals(ctx, whole)
	if err != nil {
		return nil, err
	}
	maps.Copy(totals, ranged)
	return totals, nil
}

// countRanges counts ranges by statements of a few each.
func countRanges[S any](
	ranges []warehouse.VoterRange, perStatement int, count func([]warehouse.VoterRange) ([]S, error),
) ([]S, error) {
	sums := make([]S, 0, len(ranges))
	for some := range slices.Chunk(ranges, perStatement) {
		counted, err := count(some)
		if err != nil {
			return nil, err
		}
		sums = append(sums, counted...)
	}
	return sums, nil
}

// wantTotals makes the totals of a large proposal be kept by range. Those of a ranked vote
// are not: its last round follows from all ballots.
func (p *Publisher) wantTotals(e *evaluation, urgent bool) {
	if e.ballots.Votes >= p.rangedFrom && e.proposal.VoteType != governance.RankedChoice && !e.proposal.Withdrawn {
		p.totals.want(e.proposal.Ref, urgent)
	}
}

// forgetSums makes everything be counted whole.
func (p *Publisher) forgetSums() {
	p.totals.reset()
	p.voters.forget()
}

// touch notes what batches change, before it is counted.
func (p *Publisher) touch(changes warehouse.ChangeSet) {
	p.voters.touchBallots(changes)
	for ref := range changes.Proposals {
		if changes.Voters == nil {
			p.totals.drop(ref)
		} else if voters := changes.Voters[ref]; voters != nil {
			p.totals.touch(ref, voters)
		}
	}
}
