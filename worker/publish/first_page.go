package publish

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"pnyx/cache"
	"pnyx/governance"
	"pnyx/governance/query"
	"pnyx/warehouse"
	"pnyx/warehouse/record"
	"pnyx/worker/backoff"
	"pnyx/worker/fill"
)

// firstPages are the first pages of the ballots of a large proposal after a publication.
// labels are those of its choices.
type firstPages struct {
	ref      record.RefHash
	key      governance.ProposalKey
	labels   map[string]string
	revision uint64
	head     cache.View
}

// pendingPages are the first pages that are outdated, those of the latest publication of
// each proposal.
type pendingPages struct {
	mu    sync.Mutex
	pages map[record.RefHash]firstPages
	added chan struct{}
}

func newPendingPages() *pendingPages {
	return &pendingPages{pages: map[record.RefHash]firstPages{}, added: make(chan struct{}, 1)}
}

func (p *pendingPages) add(pages firstPages) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.pages[pages.ref] = pages
	wake(p.added)
}

// next removes and returns the pages that have been pending for longest.
func (p *pendingPages) next() (pages firstPages, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, candidate := range p.pages {
		if !ok || candidate.revision < pages.revision {
			pages, ok = candidate, true
		}
	}
	delete(p.pages, pages.ref)
	return pages, ok
}

// MaintainFirstPages writes the first pages of ballots of large proposals after each
// publication, until ctx ends. They are read from the table itself, as the sorted copies
// are still pending. It runs concurrently with Run: all ballots of a proposal are read,
// which the results of the next ballot do not wait for. Pages that are lost with the
// process are made on demand, at the latest from the sorted copy.
func (p *Publisher) MaintainFirstPages(ctx context.Context) {
	for ctx.Err() == nil {
		p.AwaitFullPublication(ctx)
		pages, ok := p.pages.next()
		if !ok {
			select {
			case <-ctx.Done():
			case <-p.pages.added:
			}
			continue
		}
		began := time.Now()
		if err := p.writeFirstPages(ctx, pages); err != nil && ctx.Err() == nil {
			p.Errors.Inc()
			p.Logger.LogAttrs(ctx, slog.LevelError, "writing the first pages of a proposal failed, they are made on demand",
				slog.String("proposal_key", string(pages.key)), slog.Any("error", err))
		}
		// Pause as long as the work took: while ballots arrive, the pages are outdated
		// again a moment later.
		backoff.Wait(ctx, min(time.Since(began), backoff.Max))
	}
}

// writeFirstPages writes the first pages of a proposal's ballots in all orders.
func (p *Publisher) writeFirstPages(ctx context.Context, pages firstPages) error {
	ctx = warehouse.InBackground(ctx)
	writer := p.Store.NewWriter(pages.revision)
	for _, order := range []query.BallotOrder{query.BallotsByPower, query.BallotsByTime} {
		q := query.Ballots{Proposal: pages.key, Order: order}
		q.Limit = query.ShortPage
		request := cache.NewPageRequest(q)
		q.ReadAhead()
		rows, err := p.Warehouse.ListBallots(ctx, warehouse.BallotSource{Ref: pages.ref}, q)
		if err != nil {
			return err
		}
		view, err := cache.NewView(pages.head, fill.BallotRows(rows, pages.labels))
		if err != nil {
			return err
		}
		if err := writer.SetPage(ctx, request, view); err != nil {
			return err
		}
	}
	return writer.Flush(ctx)
}

// wantFirstPages makes the first pages of large proposals be written.
func (p *proposalPublication) wantFirstPages(large []*evaluation) {
	for _, e := range large {
		p.pages.add(firstPages{
			ref: e.proposal.Ref, key: e.key, labels: fill.LabelsOf(e.result.choices), revision: p.revision, head: p.head(),
		})
	}
}
