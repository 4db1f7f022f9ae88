package publish

import (
	"context"
	"errors"
	"maps"
	"reflect"
	"slices"
	"time"

	"pnyx/cache"
	"pnyx/governance"
	"pnyx/warehouse/counts"
	"pnyx/warehouse/record"
	"pnyx/warehouse/records"
)

const followInterval = 5 * time.Second

type followTerm struct {
	// catalog is the one published last, with the state of each source; nil before the term's first publication.
	catalog   *records.Catalog
	checkedAt time.Time // by the warehouse's clock
	// covered holds the sources whose coverage has changed, until a publication has their DAOs.
	covered []record.SourceRef
	any     bool // sources are followed
}

// takeOver remembers the catalog of a publication. Sources of DAOs that were not written keep the state that
// callers see: the next check finds the difference.
func (f *followTerm) takeOver(r Result) {
	var known records.Catalog
	if f.catalog != nil {
		known = *f.catalog
	}
	for ref, source := range r.Catalog.Sources {
		if !r.WrittenDAOs[r.Catalog.Owner[ref]] {
			source.Follow = known.Sources[ref].Follow
			r.Catalog.Sources[ref] = source
		}
	}
	f.catalog, f.covered = &r.Catalog, nil
}

// followChanges publishes how following goes where that has changed, without what is computed from records, and
// returns the sources whose coverage has changed: with them, their DAOs are to be published.
func (t *leaderTerm) followChanges(ctx context.Context, now time.Time) ([]record.SourceRef, error) {
	f := &t.follows
	if now.Sub(f.checkedAt) < followInterval {
		return f.covered, nil
	}
	f.checkedAt = now
	follows, err := records.SourceFollows(ctx, t.publisher.Warehouse, now)
	f.any = len(follows) > 0
	if err != nil || len(follows) == 0 && f.catalog == nil {
		return f.covered, err
	}
	if f.catalog == nil {
		catalog, err := records.ReadCatalog(ctx, t.publisher.Warehouse)
		if err == nil {
			catalog, err = records.WithRecords(ctx, t.publisher.Warehouse, catalog)
		}
		if err != nil {
			return f.covered, err
		}
		catalog.SetFollows(nil)
		f.catalog = &catalog
	}
	before := maps.Clone(f.catalog.Sources)
	f.catalog.SetFollows(follows)
	daos := map[string]bool{}
	for ref, source := range f.catalog.Sources {
		was := before[ref]
		if reflect.DeepEqual(source.Follow, was.Follow) {
			continue
		}
		if isSynced(ref, source) != isSynced(ref, was) || isWhole(source) != isWhole(was) || (source.Follow != nil) != (was.Follow != nil) {
			f.covered = append(f.covered, ref)
		}
		daos[f.catalog.Owner[ref]] = true
	}
	if len(daos) == 0 {
		return f.covered, nil
	}
	if err := t.publishStatuses(ctx, now, slices.Sorted(maps.Keys(daos))); err != nil {
		f.catalog = nil // which states were written is unknown
		return nil, err
	}
	return f.covered, nil
}

func (t *leaderTerm) publishStatuses(ctx context.Context, now time.Time, daoIDs []string) error {
	in := Input{Revision: t.nextRevision(now), At: now}
	r := run{Publisher: t.publisher, Input: in, workload: workload{catalog: *t.follows.catalog}}
	r.writer = t.publisher.Store.NewWriter(r.Revision)
	statuses := map[string]governance.DataStatus{}
	for id, dao := range r.catalog.DAOs {
		statuses[id] = evaluateDAO(dao, r.catalog, counts.DAOTotals{}).status
	}
	if err := r.replaceStatus(ctx, "", globalStatus(slices.Collect(maps.Values(statuses)))); err != nil {
		return err
	}
	for _, id := range daoIDs {
		if err := r.replaceStatus(ctx, id, statuses[id]); err != nil {
			return err
		}
	}
	if err := r.writer.Flush(ctx); err != nil {
		return err
	}
	t.published.Revision = r.Revision
	return nil
}

// replaceStatus writes a data status over one that is published. The coverage of votes stays.
func (r *run) replaceStatus(ctx context.Context, daoID string, status governance.DataStatus) error {
	key := cache.DataStatusKey(daoID)
	view, err := r.Store.View(ctx, key)
	if errors.Is(err, cache.ErrMiss) {
		return nil // a DAO that is to be published for the first time, or again
	}
	var published governance.DataStatus
	if err == nil {
		err = view.Decode(&published)
	}
	if err != nil {
		return err
	}
	status.VoteCoverageStatus = published.VoteCoverageStatus
	r.writer.SetPayload(ctx, key, r.head(), status)
	return nil
}
