package fill

import (
	"context"
	"errors"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"pnyx/cache"
	"pnyx/governance"
	"pnyx/governance/query"
	"pnyx/warehouse"
	"pnyx/warehouse/record"
	"pnyx/worker/dossier"
)

// dossierTTL is how long a dossier is fresh after something is published. It rests on more than
// its own proposal.
const dossierTTL = 10 * time.Second

// dossier builds what is computed about a proposal for its evidence.
func (p *page) dossier(ctx context.Context, q query.Dossier) (cache.View, error) {
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
	return cache.NewView(p.head, intelligence)
}

// invalidIn returns what reports whether a ballot of a vote is invalid, as in the vote summary.
func invalidIn(of governance.ProposalRow) func(warehouse.CountedBallot) bool {
	choices := choicesOf(of.Choices, of.Bounds)
	return func(b warehouse.CountedBallot) bool {
		return choices.bounds.Most > 0 && len(b.Choices) > 0 && (!choices.bounds.Allow(len(b.Choices), len(b.Shares) > 0) ||
			slices.ContainsFunc(b.Choices, func(key string) bool {
				_, exists := choices.labels[key]
				return !exists
			}))
	}
}

// readFacts reads the records that a dossier rests on; there is false if the proposal is gone.
func (p *page) readFacts(ctx context.Context, f *dossier.Facts) (there bool, err error) {
	ref := record.ProposalRef{Provider: f.Detail.Identity.Provider, ExternalID: f.Detail.Identity.ExternalID}
	hash, w := ref.Hash(), p.Warehouse
	found, err := w.Proposals(ctx, []record.RefHash{hash})
	if err != nil || len(found) == 0 {
		return false, err
	}
	f.Proposal = found[0]
	if f.Known, err = w.KnownProposals(ctx, f.Detail.Identity.DAOID, f.Proposal.ProposerID); err != nil {
		return false, err
	}
	end := dossier.End(f.Detail, f.AsOf)
	var group errgroup.Group
	group.Go(func() (err error) {
		if f.Ballots, err = w.DossierBallots(ctx, hash); err != nil {
			return err
		}
		f.Recasts, f.SideChanges, err = w.Recasts(ctx, hash)
		return err
	})
	group.Go(func() (err error) {
		f.Strongest, err = w.StrongestVoters(ctx, dossier.Year(f.Known, f.Detail.Identity.DAOID, end))
		return err
	})
	group.Go(func() (err error) {
		f.NewVoters, err = w.NewVoters(ctx, hash, dossier.Before(f.Known, f.Detail.Identity.DAOID, f.Detail.StartAt))
		return err
	})
	if created := governance.FirstKnown(f.Proposal.CreatedAt, f.Proposal.StartAt); f.HasSnapshot() {
		group.Go(func() error {
			delegated, err := warehouse.DelegatedAt(ctx, w, f.Proposal.VotingToken, hash, *created, *f.Detail.StartAt)
			f.Delegated = &delegated
			return err
		})
	}
	group.Go(func() (err error) {
		f.Topics, err = w.TopicsOf(ctx, hash)
		return err
	})
	group.Go(func() error {
		actions, err := w.Actions(ctx, found)
		if f.Actions = actions[hash]; err != nil {
			return err
		}
		return f.ReadAround(ctx, w)
	})
	group.Go(func() (err error) {
		f.Discussions, err = w.Discussions(ctx, f.Compared())
		return err
	})
	group.Go(func() error {
		analyses, err := w.Evidence(ctx, []record.ProposalRef{ref})
		if analysis, exists := analyses[ref]; exists {
			f.Analysis = &analysis
		}
		return err
	})
	return true, group.Wait()
}
