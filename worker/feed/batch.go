package feed

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"

	"pnyx/governance"
	"pnyx/warehouse"
	"pnyx/warehouse/feed"
	"pnyx/warehouse/record"
)

// Bounds of the proposals that are processed together: maxBallots is what one query sorts by time.
const (
	proposalBatchSize = 4000
	maxBallots        = 300_000
)

type batch struct {
	// items states up to which revision each item is processed.
	items []feed.FeedProgress
	// events and signals are the derived rows.
	events  []feed.FeedEvent
	signals []feed.FeedSignal
	// storedEvents and storedSignals are the rows that were derived from the items before.
	storedEvents, storedSignals []feed.StoredFeedRow
	// discovered is when stored events were discovered, by item and id, but for those still expected in the future.
	discovered map[feed.FeedItem]map[string]governance.Timestamp
}

// newBatch returns a batch of the next revision, with the stored rows of some items and without derived ones.
func (b *Builder) newBatch(ctx context.Context, items []feed.FeedItem) (rows batch, err error) {
	now, err := b.nextRevision(ctx)
	if err != nil {
		return rows, err
	}
	if rows.storedEvents, err = feed.NewFeed(b.Warehouse).StoredEvents(ctx, items); err != nil {
		return rows, err
	}
	rows.discovered = map[feed.FeedItem]map[string]governance.Timestamp{}
	for _, stored := range rows.storedEvents {
		if stored.DiscoveredAt > now {
			continue
		}
		if rows.discovered[stored.Item] == nil {
			rows.discovered[stored.Item] = map[string]governance.Timestamp{}
		}
		rows.discovered[stored.Item][stored.ID] = stored.DiscoveredAt
	}
	rows.storedSignals, err = feed.NewFeed(b.Warehouse).StoredSignals(ctx, items)
	return rows, err
}

func (r batch) subjects() []feed.ProposalSize {
	refs := map[record.RefHash]bool{}
	for _, row := range r.events {
		refs[row.Ref] = true
	}
	for _, row := range r.signals {
		refs[row.Ref] = true
	}
	for _, stored := range slices.Concat(r.storedEvents, r.storedSignals) {
		refs[stored.Ref] = true
	}
	// Rows that are about no proposal have the zero reference.
	delete(refs, record.RefHash{})
	return warehouse.Values(slices.Collect(maps.Keys(refs)), func(ref record.RefHash) feed.ProposalSize { return feed.ProposalSize{Ref: ref} })
}

// write replaces the stored rows, and changes the versions of the lists that differ. The items stay pending.
func (b *Builder) write(ctx context.Context, rows batch) error {
	changes := map[string]feed.DAOChanges{}
	// Both write the difference only: equal rows keep their revision, and those gone get a tombstone.
	events, err := feed.NewFeed(b.Warehouse).ReplaceEvents(ctx, b.revision, rows.storedEvents, rows.events)
	if err != nil {
		return err
	}
	signals, err := feed.NewFeed(b.Warehouse).ReplaceSignals(ctx, b.revision, rows.storedSignals, rows.signals)
	if err != nil {
		return err
	}
	for _, daoIDs := range []iter.Seq[string]{maps.Keys(events), maps.Keys(signals)} {
		for daoID := range daoIDs {
			changes[daoID] = feed.DAOChanges{EventIDs: events[daoID], SignalIDs: signals[daoID]}
		}
	}
	// Pages made since b.revision may lack rows written since: the versions are later.
	if _, err := b.nextRevision(ctx); err != nil {
		return err
	}
	if err := b.setVersions(ctx, changes); err != nil {
		return fmt.Errorf("set the versions of changed lists: %w", err)
	}
	return nil
}
