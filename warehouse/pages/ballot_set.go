package pages

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/shopspring/decimal"

	"pnyx/governance"
	"pnyx/governance/query"
	"pnyx/warehouse"
	"pnyx/warehouse/record"
)

// maxSharedCasts is the maximum number of stored ballots of a proposal whose pages are read
// together with others: its ballots are read completely.
const maxSharedCasts = 2000

// ballotRequest is a page of a proposal's ballots in the table itself.
type ballotRequest struct {
	ref record.RefHash
	query.Ballots
}

// smallBallotPages reads pages of several proposals at once; nil for one with too many ballots.
func smallBallotPages(ctx context.Context, w *warehouse.Warehouse, requests []ballotRequest) ([][]LatestBallot, error) {
	refs := warehouse.Values(requests, func(r ballotRequest) record.RefHash { return r.ref })
	sql := storedBallots("proposal_ref IN (SELECT proposal_ref FROM wanted_proposals)", "proposal_ref", shownReason)
	ballots, err := countingBy(ctx, w, "read the ballots of several proposals", sql, warehouse.RefTable(refs),
		maxSharedCasts, func(c *cast) record.RefHash { return c.Ref })
	if err != nil {
		return nil, err
	}
	pages := make([][]LatestBallot, len(requests))
	for i, r := range requests {
		of, some := ballots[r.ref]
		if some && of == nil {
			continue
		}
		if pages[i], err = r.page(slices.Clone(of)); err != nil {
			return nil, err
		}
	}
	return pages, nil
}

// page returns the page of the ballots of its proposal that count. It changes their order.
func (r ballotRequest) page(ballots []*cast) ([]LatestBallot, error) {
	inOrder := func(a, b *cast) int {
		return cmp.Or(b.Power.Cmp(a.Power), cmp.Compare(b.VoterIdentity, a.VoterIdentity))
	}
	if r.Order == query.BallotsByTime {
		inOrder = func(a, b *cast) int { return cmp.Or(b.compareTime(a), cmp.Compare(b.VoterIdentity, a.VoterIdentity)) }
	}
	if r.After != nil {
		var after cast
		after.VoterIdentity, after.VotedAt = r.After.Voter, r.After.At
		if r.Order == query.BallotsByPower {
			var err error
			if after.Power, err = decimal.NewFromString(string(r.After.Power)); err != nil {
				return nil, fmt.Errorf("read a page of ballots: position: %w", err)
			}
		}
		ballots = slices.DeleteFunc(ballots, func(b *cast) bool { return inOrder(&after, b) >= 0 })
	}
	slices.SortFunc(ballots, inOrder)
	ballots = ballots[:min(r.Limit, len(ballots))]
	return warehouse.Values(ballots, func(b *cast) LatestBallot {
		b.VotingPower, b.VoterAddress = governance.DecimalOf(b.Power), addressOf(b.VoterIdentity)
		return b.LatestBallot
	}), nil
}
