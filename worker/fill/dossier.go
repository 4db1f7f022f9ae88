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

// dossierTTL is how long a dossier is fresh at least: it rests on more than its own proposal. One of a large vote
// is fresh for dossierRest times as long as it took, so that reading it again and again keeps no worker busy.
const (
	dossierTTL  = 10 * time.Second
	dossierRest = 10
)

func (p *page) dossier(ctx context.Context, q query.Dossier) (any, error) {
	began := time.Now()
	if err := p.setPublishedHead(ctx, dossierTTL); err != nil {
		return nil, err
	}
	row, err := p.proposalDetail(ctx, q.Proposal)
	if errors.Is(err, cache.ErrMiss) {
		return nil, errAbsent
	} else if err != nil {
		return nil, err
	}
	f := dossier.Facts{AsOf: p.head.DataAsOf, Detail: row.ProposalDetail}
	if f.Votes, err = p.setBallotCoverage(ctx, q.Proposal); err != nil {
		return nil, err
	}
	published, err := readView[governance.Evidence](ctx, p, cache.EvidenceKey(q.Proposal))
	if err != nil && !errors.Is(err, cache.ErrMiss) {
		return nil, err
	}
	f.Quality, f.Conflicts = published.QualityFlags, published.Warnings
	if err := p.readFacts(ctx, &f); err != nil {
		return nil, err
	}
	isInvalid := invalidIn(row)
	for i, ballot := range f.Ballots {
		f.Ballots[i].Invalid = isInvalid(ballot)
	}
	intelligence, err := dossier.Compose(f)
	p.head.FreshUntil = new(governance.TimestampOf(time.Now().Add(max(dossierTTL, dossierRest*time.Since(began)))))
	return intelligence, err
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

// readFacts reads the records that a dossier rests on. The error is errAbsent if the proposal is gone.
func (p *page) readFacts(ctx context.Context, f *dossier.Facts) error {
	read := func(ctx context.Context, w *warehouse.Warehouse, of []*dossier.Facts) ([]*dossier.Facts, error) {
		return of, dossier.Read(ctx, w, of)
	}
	held, err := strconv.ParseUint(string(f.Votes.Held.Votes), 10, 64)
	if err != nil {
		return fmt.Errorf("count the ballots of %s: %w", f.Detail.ProposalKey, err)
	}
	if held > maxSharedBallots {
		_, err = warehouse.Alone(ctx, func(ctx context.Context) ([]*dossier.Facts, error) {
			return read(ctx, p.Warehouse, []*dossier.Facts{f})
		})
	} else {
		_, err = warehouse.Share(ctx, p.Warehouse, "dossiers", f, read)
	}
	if err == nil && f.Proposal.Ref == (record.RefHash{}) {
		err = errAbsent
	}
	return err
}
