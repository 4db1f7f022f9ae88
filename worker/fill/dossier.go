package fill

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"pnyx/cache"
	"pnyx/governance"
	"pnyx/governance/query"
	"pnyx/warehouse"
	"pnyx/warehouse/pages"
	"pnyx/warehouse/record"
	"pnyx/worker/dossier"
)

// dossierTTL is how long a dossier is fresh at least after something is published. It rests on more than its own
// proposal. One of a large vote is fresh for dossierRest times as long as it took, so that a caller who reads it again
// and again keeps no worker busy.
const (
	dossierTTL  = 10 * time.Second
	dossierRest = 10
)

// dossier builds what is computed about a proposal for its evidence.
func (p *page) dossier(ctx context.Context, q query.Dossier) (cache.View, error) {
	began := time.Now()
	if err := p.setPublishedHead(ctx, dossierTTL); err != nil {
		return cache.View{}, err
	}
	row, err := p.proposalDetail(ctx, q.Proposal)
	if err != nil {
		if errors.Is(err, cache.ErrMiss) {
			return p.absent(), nil
		}
		return cache.View{}, err
	}
	f := dossier.Facts{AsOf: p.head.DataAsOf, Detail: row.ProposalDetail}
	if f.Votes, err = p.setBallotCoverage(ctx, q.Proposal); err != nil {
		return cache.View{}, err
	}
	view, err := p.Store.View(ctx, cache.EvidenceKey(q.Proposal))
	if err != nil && !errors.Is(err, cache.ErrMiss) {
		return cache.View{}, err
	}
	if err == nil {
		var published governance.Evidence
		if err := view.Decode(&published); err != nil {
			return cache.View{}, err
		}
		f.Quality, f.Conflicts = published.QualityFlags, published.Warnings
	}
	if there, err := p.readFacts(ctx, &f); err != nil || !there {
		return p.absent(), err
	}
	isInvalid := invalidIn(row)
	for i, ballot := range f.Ballots {
		f.Ballots[i].Invalid = isInvalid(ballot)
	}
	intelligence, err := dossier.Compose(f)
	if err != nil {
		return cache.View{}, err
	}
	until := governance.TimestampOf(time.Now().Add(max(dossierTTL, dossierRest*time.Since(began))))
	p.head.FreshUntil = &until
	return cache.NewView(p.head, intelligence)
}

// invalidIn returns what reports whether a ballot of a vote is invalid, as in the vote summary.
func invalidIn(of governance.ProposalRow) func(pages.CountedBallot) bool {
	choices := choicesOf(of.Choices, of.Bounds)
	return func(b pages.CountedBallot) bool {
		return len(choices.labels) > 0 && len(b.Choices) > 0 && (!choices.bounds.Allow(len(b.Choices), b.Form) ||
			slices.ContainsFunc(b.Choices, func(key string) bool {
				_, exists := choices.labels[key]
				return !exists
			}))
	}
}

// maxSharedBallots is how many ballots a vote has at most whose records are read together with other votes.
const maxSharedBallots = 2000

// readFacts reads the records that a dossier rests on; there is false if the proposal is gone.
func (p *page) readFacts(ctx context.Context, f *dossier.Facts) (there bool, err error) {
	read := func(ctx context.Context, w *warehouse.Warehouse, of []*dossier.Facts) ([]*dossier.Facts, error) {
		return of, dossier.Read(ctx, w, of)
	}
	held, err := strconv.ParseUint(string(f.Votes.Held.Votes), 10, 64)
	if err != nil {
		return false, fmt.Errorf("count the ballots of %s: %w", f.Detail.ProposalKey, err)
	}
	if held > maxSharedBallots {
		_, err = warehouse.Alone(ctx, func(ctx context.Context) ([]*dossier.Facts, error) {
			return read(ctx, p.Warehouse, []*dossier.Facts{f})
		})
	} else {
		_, err = warehouse.Share(ctx, p.Warehouse, "dossiers", f, read)
	}
	return f.Proposal.Ref != record.RefHash{}, err
}
