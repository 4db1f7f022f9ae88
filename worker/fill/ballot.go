package fill

import (
	"context"
	"errors"

	"pnyx/cache"
	"pnyx/governance"
	"pnyx/governance/query"
	"pnyx/panics"
	"pnyx/warehouse/pages"
	"pnyx/warehouse/record"
)

func (p *page) ballots(ctx context.Context, q query.Ballots) (any, error) {
	var detail governance.ProposalRow
	var rows []pages.LatestBallot
	err := p.fromSortedCopy(ctx, q.Scope(), func(generation uint64) (err error) {
		describe := func() (err error) {
			if detail, err = p.proposalDetail(ctx, q.Proposal); err == nil {
				_, err = p.setBallotCoverage(ctx, q.Proposal)
			}
			return err
		}
		if generation != 0 {
			reading, _ := panics.WithContext(ctx) // a copy is read without knowing the proposal
			reading.Go(describe)
			rows, err = pages.ListBallots(ctx, p.Warehouse, pages.BallotSource{Generation: generation}, q)
			return errors.Join(err, reading.Wait())
		}
		if err = describe(); err != nil {
			return err
		}
		ref := record.ProposalRef{Provider: detail.Identity.Provider, ExternalID: detail.Identity.ExternalID}
		rows, err = pages.ListBallots(ctx, p.Warehouse, pages.BallotSource{Ref: ref.Hash()}, q)
		return err
	})
	if err != nil {
		return nil, err
	}
	ballots := ballotRows(rows, choicesOf(detail.Choices, detail.Bounds))
	return ballots, nameRows(ctx, p, ballots, func(b *governance.Ballot) []shown { return []shown{{b.VoterIdentity, &b.VoterName}} })
}

// setBallotCoverage states in the head how many ballots are held, as the vote summary does, which it returns;
// nothing without one. Where upstream has some, and none is held, they are not available.
func (p *page) setBallotCoverage(ctx context.Context, key governance.ProposalKey) (summary governance.VoteSummary, err error) {
	summary, err = readView[governance.VoteSummary](ctx, p, cache.VoteSummaryKey(key))
	if err != nil && !errors.Is(err, cache.ErrMiss) {
		return governance.VoteSummary{}, err
	}
	p.head.VoteCoverage = summary.CoverageStatus.OfBallots()
	if summary.CoverageStatus == governance.CoverageUnavailable {
		p.head.Readiness = governance.ReadinessUnavailable
	}
	return summary, nil
}

func (p *page) proposalDetail(ctx context.Context, key governance.ProposalKey) (governance.ProposalRow, error) {
	return readView[governance.ProposalRow](ctx, p, cache.ProposalDetailKey(key))
}

type voteChoices struct {
	labels map[string]string
	bounds governance.ChoiceBounds
}

func choicesOf(choices []governance.Choice, bounds governance.ChoiceBounds) voteChoices {
	labels := make(map[string]string, len(choices))
	for _, choice := range choices {
		labels[choice.Key] = choice.Label
	}
	return voteChoices{labels, bounds}
}

func ballotRows(rows []pages.LatestBallot, choices voteChoices) []governance.Ballot {
	page := make([]governance.Ballot, len(rows))
	type choice struct {
		label   string
		invalid bool
	}
	written := map[string]choice{} // most ballots repeat one of few choices
	for i, row := range rows {
		one, known := written[row.RawChoice]
		if !known {
			one.label, one.invalid = describeBallot(row.RawChoice, choices)
			written[row.RawChoice] = one
		}
		if row.Choice.Label, row.Invalid = one.label, one.invalid; one.invalid {
			row.ChoiceKey = nil
		}
		page[i] = row.Ballot
	}
	return page
}
