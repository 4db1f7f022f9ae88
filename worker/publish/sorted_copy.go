package publish

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"pnyx/backoff"
	"pnyx/cache"
	"pnyx/governance"
	"pnyx/governance/query"
	"pnyx/warehouse"
	"pnyx/warehouse/counts"
	"pnyx/warehouse/pages"
	"pnyx/warehouse/record"
	"pnyx/warehouse/records"
)

const (
	// copyInterval is the time between two checks for missing copies when no publication asks for one.
	copyInterval = time.Minute
	// dropInterval is between two checks for replaced copies. Readers that began on one have it from one check to
	// the next, and for minCopyAge since it was begun.
	dropInterval = time.Minute
	minCopyAge   = time.Minute
)

// MaintainSortedCopies builds the pending sorted copies of large proposals and DAOs, one at a time, and drops
// replaced ones, until ctx ends. It runs concurrently with Run. Errors are logged and retried.
func (p *Publisher) MaintainSortedCopies(ctx context.Context) {
	var dropped time.Time
	var current []pages.SortedCopy
	announced := false
	for ctx.Err() == nil {
		p.AwaitFullPublication(ctx)
		began := time.Now()
		if err := p.buildSortedCopies(ctx); err != nil && ctx.Err() == nil {
			p.Errors.Inc()
			p.Logger.LogAttrs(ctx, slog.LevelError,
				"building sorted copies failed, pages are sorted on request", slog.Any("error", err))
			backoff.Wait(ctx, backoff.Jitter(backoff.Max))
		}
		if time.Since(dropped) > dropInterval {
			dropped = time.Now()
			var err error
			current, err = p.dropSortedCopies(ctx, current)
			if err == nil && !announced {
				// The term before may have ended between the two steps of a copy.
				err = p.announceCopies(ctx, current...)
				announced = err == nil
			}
			if err != nil && ctx.Err() == nil {
				p.Logger.LogAttrs(ctx, slog.LevelWarn, "dropping replaced sorted copies failed, retrying",
					slog.Any("error", err))
			}
		}
		// Pause as long as the work took: during an import, a copy is soon outdated again.
		backoff.Wait(ctx, min(time.Since(began), backoff.Max))
		backoff.Await(ctx, copyInterval, p.copiesPending)
	}
}

// buildSortedCopies builds what is missing or outdated; nothing while everything is published, which outdates it.
func (p *Publisher) buildSortedCopies(ctx context.Context) error {
	if p.isPublishingEverything(ctx) {
		return nil
	}
	stale, err := pages.StaleSortedCopies(ctx, p.Warehouse)
	if err != nil {
		return err
	}
	for _, sorted := range stale {
		if p.full.Load() != nil {
			return nil
		}
		if err := p.buildSortedCopy(ctx, sorted); err != nil {
			return err
		}
	}
	return nil
}

// buildSortedCopy builds a new generation unless the copy has the same ballots, makes it the current one, and
// changes the version of the pages that are read from it.
func (p *Publisher) buildSortedCopy(ctx context.Context, sorted pages.SortedCopy) error {
	began := time.Now()
	// Read before the ballots are copied: a copy with ballots that land meanwhile is built again the next time.
	fingerprint, err := p.fingerprintOf(warehouse.InBackground(ctx), sorted)
	if err != nil {
		return err
	}
	same := fingerprint == sorted.Fingerprint && fingerprint != 0
	if same { // as most are after a restart, which publishes everything; the copy of what was withdrawn may be gone
		if same, err = p.isWhole(ctx, sorted); err != nil {
			return err
		}
	}
	if !same {
		if matches, err := p.buildGeneration(ctx, &sorted); err != nil || !matches {
			return err
		}
	}
	sorted.Fingerprint = fingerprint
	if err := pages.SwitchSortedCopy(ctx, p.Warehouse, sorted); err != nil {
		return err
	}
	written, err := p.setCopyVersion(ctx, sorted)
	if err != nil {
		return err
	}
	err = p.announceCopies(ctx, sorted)
	p.Invalidate(ctx, written)
	if err != nil {
		return err
	}
	p.metrics.sortedCopies.WithLabelValues(string(sorted.Kind)).Observe(time.Since(began).Seconds())
	p.Logger.LogAttrs(ctx, slog.LevelDebug, "renewed a sorted copy",
		slog.String("kind", string(sorted.Kind)), slog.String("subject", sorted.Subject), slog.Bool("built", !same),
		slog.Uint64("votes", sorted.Votes), slog.Duration("duration", time.Since(began)))
	return nil
}

// buildGeneration builds a new generation of a copy, and reports whether it agrees with the published numbers.
func (p *Publisher) buildGeneration(ctx context.Context, sorted *pages.SortedCopy) (matches bool, err error) {
	now, err := p.Warehouse.Now(ctx)
	if err != nil {
		return false, err
	}
	sorted.Generation = max(uint64(now.UnixMicro()), sorted.Generation+1)
	if err := pages.BuildSortedCopy(warehouse.InBackground(ctx), p.Warehouse, *sorted, sorted.Generation); err != nil {
		return false, err
	}
	matches, err = pages.MatchesPublished(ctx, p.Warehouse, *sorted, sorted.Generation)
	if err != nil || matches {
		return matches, err
	}
	// Most likely ballots have landed meanwhile. The copy stays pending, and is built again.
	catalog, err := records.CatalogOwners(ctx, p.Warehouse)
	p.reportUnbalanced(ctx, errUnbalanced, slog.String("dao_id", sorted.Subject), time.UnixMicro(int64(sorted.Revision)), //nolint:gosec // a time
		[]record.RefHash{sorted.Ref}, catalog.DAOs[sorted.Subject].Sources)
	return false, err
}

func (p *Publisher) isWhole(ctx context.Context, sorted pages.SortedCopy) (bool, error) {
	if sorted.Kind == pages.VoterCopy {
		return pages.MatchesPublished(ctx, p.Warehouse, sorted, sorted.Generation)
	}
	copied, err := pages.CountCopiedBallots(ctx, p.Warehouse, sorted.Generation)
	return copied.Votes == sorted.Votes, err
}

// fingerprintOf returns the fingerprint of the ballots that a copy is to have; zero where there are none.
func (p *Publisher) fingerprintOf(ctx context.Context, sorted pages.SortedCopy) (uint64, error) {
	if sorted.Kind == pages.VoterCopy {
		of, err := counts.DAOFingerprints(ctx, p.Warehouse, []string{sorted.Subject})
		return of[sorted.Subject], err
	}
	of, err := counts.BallotFingerprints(ctx, p.Warehouse, []record.RefHash{sorted.Ref})
	return of[sorted.Ref], err
}

func (p *Publisher) setCopyVersion(ctx context.Context, sorted pages.SortedCopy) (*cache.Writer, error) {
	scope := query.Scope{Kind: query.KindBallots, Subject: sorted.Subject}
	if sorted.Kind == pages.VoterCopy {
		scope.Kind = query.KindVoters
	}
	writer := p.Store.NewWriter(sorted.Revision)
	writer.SetVersion(ctx, scope, sorted.Generation)
	if err := writer.Flush(ctx); err != nil {
		return nil, fmt.Errorf("set the version of the sorted copy of %s: %w", sorted.Subject, err)
	}
	return writer, nil
}

func (p *Publisher) announceCopies(ctx context.Context, copies ...pages.SortedCopy) error {
	refs := warehouse.Values(copies, func(sorted pages.SortedCopy) record.RefHash { return sorted.Ref })
	identities, err := counts.PublishedIdentities(ctx, p.Warehouse, refs)
	if err != nil {
		return err
	}
	var changes []governance.Change
	for _, sorted := range copies {
		change := governance.Change{
			Kind: governance.DAOChange, Key: sorted.Subject, DAOID: sorted.Subject,
			ChangedAt: governance.TimestampOfRevision(sorted.Revision),
			Revision:  governance.CountOf(sorted.Revision),
		}
		if sorted.Kind == pages.BallotCopy {
			change.Kind, change.DAOID = governance.ProposalChange, identities[sorted.Ref].DAOID
		}
		changes = append(changes, change)
	}
	return p.Changes.Add(ctx, changes, nil)
}

// dropSortedCopies drops replaced copies but those in previous, which were current at the last check, and those
// that exports read, and returns the current ones. It writes their versions first: one that was not written at its
// time must not name a copy that is gone.
func (p *Publisher) dropSortedCopies(ctx context.Context, previous []pages.SortedCopy) (current []pages.SortedCopy, err error) {
	now, err := p.Warehouse.Now(ctx)
	if err != nil {
		return previous, err
	}
	if current, err = pages.CurrentSortedCopies(ctx, p.Warehouse); err != nil {
		return previous, err
	}
	for _, sorted := range current {
		if _, err := p.setCopyVersion(ctx, sorted); err != nil {
			return previous, err
		}
	}
	exports, err := p.Store.Exports(ctx)
	if err != nil {
		return previous, err
	}
	kept := slices.Concat(previous, current)
	for _, export := range exports {
		kept = append(kept, pages.SortedCopy{Generation: export.Generation})
	}
	return current, pages.DropOldSortedCopies(ctx, p.Warehouse, kept, now.Add(-minCopyAge))
}
