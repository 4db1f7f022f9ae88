package feed

import (
	"context"
	"errors"
	"time"

	"pnyx/cache"
	"pnyx/governance"
	"pnyx/governance/query"
	"pnyx/warehouse/feed"
	"pnyx/warehouse/records"
)

// showVisible changes the versions of lists in which stored events of the future became visible: a list shows
// nothing later than its version. The first call, and one after an error, changes the lists of which nothing was told;
// after a flush of Redis, all.
func (b *Builder) showVisible(ctx context.Context) error {
	// The version of the list of all DAOs is missing only after a flush.
	_, err := b.Store.Version(ctx, query.Events{}.Scope())
	if errors.Is(err, cache.ErrMiss) {
		b.visibleThrough, b.daoNames, err = 0, nil, nil
	}
	if err != nil {
		return err
	}
	if err := b.checkFullRevision(ctx); err != nil || b.visibleThrough != 0 && time.Now().Before(b.nextVisible) {
		return err
	}
	began := time.Now()
	now, err := b.nextRevision(ctx)
	if err != nil {
		return err
	}
	var changes map[string]feed.DAOChanges
	if b.visibleThrough == 0 {
		changes, err = b.resume(ctx, now)
	} else {
		changes, err = feed.NewFeed(b.Warehouse).BecameVisible(ctx, b.visibleThrough, now)
	}
	if err != nil {
		return err
	}
	next, err := feed.NewFeed(b.Warehouse).NextVisible(ctx, now)
	if err != nil {
		return err
	}
	b.visibleThrough, b.nextVisible = now, began.Add(maxVisibleInterval)
	if until := next.Time().Sub(now.Time()); next != 0 && until < maxVisibleInterval {
		b.nextVisible = began.Add(until)
	}
	return b.setVersions(ctx, changes)
}

// checkFullRevision notes the last full publication: another one follows a failover, which may have lost versions.
func (b *Builder) checkFullRevision(ctx context.Context) error {
	published, err := b.Store.PublicationState(ctx)
	if err != nil && !errors.Is(err, cache.ErrMiss) {
		return err
	}
	if b.fullRevision != 0 && published.LastFullRevision != b.fullRevision {
		b.visibleThrough, b.daoNames = 0, nil
	}
	b.fullRevision = published.LastFullRevision
	return nil
}

// resume returns what the term before, or what failed, has not told: other lists keep their versions, and callers
// their copies. What Redis has lost the warehouse knows; where versions may be lost, all lists change.
func (b *Builder) resume(ctx context.Context, now governance.Timestamp) (map[string]feed.DAOChanges, error) {
	state, err := b.Store.FeedState(ctx)
	lost := errors.Is(err, cache.ErrMiss)
	if lost {
		told, err := b.Changes.Feed(ctx)
		if err != nil {
			return nil, err
		}
		if told == nil {
			return b.allLists(ctx)
		}
		state.Revision, state.VisibleThrough = told.Revision, told.VisibleThrough
	} else if err != nil {
		return nil, err
	}
	changes := map[string]feed.DAOChanges{}
	if lost || state.FullRevision != 0 && state.FullRevision != b.fullRevision {
		if changes, err = b.allLists(ctx); err != nil {
			return nil, err
		}
	}
	written, err := feed.NewFeed(b.Warehouse).ChangedSince(ctx, "", state.Revision)
	if err != nil {
		return nil, err
	}
	visible, err := feed.NewFeed(b.Warehouse).BecameVisible(ctx, state.VisibleThrough, now)
	if err != nil {
		return nil, err
	}
	for _, missed := range []map[string]feed.DAOChanges{written, visible} {
		for daoID, rows := range missed {
			all := changes[daoID]
			all.EventIDs, all.SignalIDs = append(all.EventIDs, rows.EventIDs...), append(all.SignalIDs, rows.SignalIDs...)
			changes[daoID] = all
		}
	}
	return changes, nil
}

func (b *Builder) allLists(ctx context.Context) (map[string]feed.DAOChanges, error) {
	catalog, err := records.CatalogOwners(ctx, b.Warehouse)
	changes := map[string]feed.DAOChanges{"": {BothLists: true}}
	for id := range catalog.DAOs {
		changes[id] = feed.DAOChanges{BothLists: true}
	}
	return changes, err
}

// showRenamed changes the lists of DAOs that were renamed, and tells of all their rows, which show the name but do
// not store it. A name waits until it is published, as pages show that one. Redis knows which names were shown
// before.
func (b *Builder) showRenamed(ctx context.Context, catalog records.Catalog) (err error) {
	if b.daoNames == nil {
		if b.daoNames, err = b.Store.FeedNames(ctx); err != nil {
			return err
		}
	}
	renamed, names := map[string]feed.DAOChanges{}, map[string]string{}
	for id, dao := range catalog.DAOs {
		shown, known := b.daoNames[id]
		if known {
			names[id] = shown
		}
		if known && shown == dao.Name {
			continue
		}
		row, err := b.Store.DAORow(ctx, id)
		if err != nil && !errors.Is(err, cache.ErrMiss) {
			return err
		}
		if err != nil || row.Name != dao.Name {
			continue
		}
		renamed[id], names[id] = feed.DAOChanges{BothLists: true}, dao.Name
		if known {
			rows, err := feed.NewFeed(b.Warehouse).ChangedSince(ctx, id, 0)
			if err != nil {
				return err
			}
			renamed[id] = rows[id]
		}
	}
	if len(renamed) == 0 {
		return nil
	}
	if _, err := b.nextRevision(ctx); err != nil {
		return err
	}
	if err := b.setVersions(ctx, renamed); err != nil {
		return err
	}
	if err := b.Store.SetFeedNames(ctx, names); err != nil {
		return err
	}
	b.daoNames = names
	return nil
}

// setVersions changes the versions of the lists of DAOs that have changed, and of all DAOs, and announces them.
func (b *Builder) setVersions(ctx context.Context, changes map[string]feed.DAOChanges) error {
	if len(changes) == 0 {
		return nil
	}
	writer := b.Store.NewWriter(b.revision)
	at := governance.TimestampOfRevision(b.revision)
	lists := map[query.Scope]bool{}
	for daoID, change := range changes {
		for _, id := range change.EventIDs {
			writer.AddChange(governance.EventChange, id, daoID, at)
		}
		for _, id := range change.SignalIDs {
			writer.AddChange(governance.SignalChange, id, daoID, at)
		}
		for _, list := range []string{daoID, ""} {
			if change.BothLists || len(change.EventIDs) > 0 {
				lists[query.Events{DAOID: list}.Scope()] = true
			}
			if change.BothLists || len(change.SignalIDs) > 0 {
				lists[query.Signals{DAOID: list}.Scope()] = true
			}
		}
	}
	for list := range lists {
		writer.SetVersion(ctx, list, 0)
	}
	// What is cut off before is found again by the state in the stream.
	state := cache.FeedState{Revision: b.revision, VisibleThrough: b.visibleThrough, FullRevision: b.fullRevision}
	rows, err := writer.TakeChanges(ctx)
	if err != nil {
		return err
	}
	if err := b.Changes.Add(ctx, rows, &state); err != nil {
		return err
	}
	b.Invalidate(ctx, writer)
	b.OnShow(b.revision)
	return nil
}
