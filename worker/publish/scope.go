package publish

import (
	"context"
	"errors"
	"maps"
	"slices"

	"pnyx/cache"
	"pnyx/warehouse"
	"pnyx/warehouse/counts"
	"pnyx/warehouse/record"
	"pnyx/warehouse/records"
)

// Scope is what a publication covers: Everything or Changes.
type Scope interface {
	// load reads what to publish; lagging is Input.Lagging.
	load(ctx context.Context, p *Publisher, lagging map[string]bool) (workload, error)
}

type workload struct {
	// everything is set by the scope of that name.
	everything bool
	// untold is what the log of changes is to tell; nil for all that is published.
	untold *untold
	// catalog is read after the records that name its sources, so that it has them all.
	catalog   records.Catalog
	proposals []record.RefHash
	// counterparts are the same proposals at other providers, mirrors the counterparts of Governors' proposals.
	counterparts map[record.RefHash][]record.RefHash
	mirrors      mirrors
	// daos are published. The publication adds the DAOs that its proposals belong or belonged to.
	daos   map[string]bool
	topics topicScope
}

// Everything covers all proposals, DAOs and topics of the warehouse.
type Everything struct {
	// Untold is what has changed since the log of changes was written, which Redis may have lost; nil to tell of
	// everything.
	Untold *Changes
	// Lagging are the DAOs that kept previous numbers then.
	Lagging []string
}

// load reads the records before the catalog.
func (e Everything) load(ctx context.Context, p *Publisher, _ map[string]bool) (work workload, err error) {
	work = workload{everything: true, daos: map[string]bool{}}
	if e.Untold != nil {
		changes, err := e.Untold.load(ctx, p, nil)
		if err != nil {
			return work, err
		}
		addAll(changes.daos, e.Lagging)
		// Redis may not know any more that they were published.
		for source := range e.Untold.Sources {
			if id, claimed := claimedDAO(changes.catalog, source); claimed {
				changes.daos[id], work.daos[id] = true, true
			}
		}
		work.untold, work.topics = &untold{map[record.RefHash]bool{}, maps.Clone(changes.daos)}, changes.topics
		addAll(work.untold.proposals, changes.proposals)
	}
	if work.proposals, err = records.AllProposals(ctx, p.Warehouse); err != nil {
		return work, err
	}
	if work.topics.all, err = records.AllTopics(ctx, p.Warehouse); err != nil {
		return work, err
	}
	if work.counterparts, err = counts.Counterparts(ctx, p.Warehouse, nil); err != nil {
		return work, err
	}
	all, err := records.Mirrors(ctx, p.Warehouse, nil)
	if err != nil {
		return work, err
	}
	if work.catalog, err = records.ReadCatalog(ctx, p.Warehouse); err != nil {
		return work, err
	}
	if e.Untold != nil { // forums may have come since
		work.topics.addForums(work.catalog)
	}
	work.mirrors = newMirrors(all, work.catalog)
	work.mirrors.replaceIn(work.counterparts)
	for id := range work.catalog.DAOs {
		work.daos[id] = true
	}
	return work, nil
}

// Changes covers what newly committed batches and the passing of time have changed.
type Changes struct {
	// ChangeSet is what batches touch, and proposals that are due by the clock.
	records.ChangeSet
	// AllForums adds the topics of every forum that differ from what is published, and links changed since Since.
	AllForums bool
	// Since is the revision of the publication before.
	Since uint64
}

// load reads the catalog after the batches, so that it has all sources. It adds counterparts, and proposals whose
// source has changed hands, is spam now or is no more.
func (c Changes) load(ctx context.Context, p *Publisher, lagging map[string]bool) (work workload, err error) {
	work = workload{
		daos:   map[string]bool{},
		topics: topicScope{forums: map[string]bool{}, relinked: c.AllForums, since: c.Since},
	}
	maps.Copy(work.daos, lagging)
	if work.catalog, err = records.ReadCatalog(ctx, p.Warehouse); err != nil {
		return work, err
	}
	if c.AllForums {
		work.topics.addForums(work.catalog)
	}
	proposals := map[record.RefHash]bool{}
	maps.Copy(proposals, c.Proposals)
	sources, formerDAO, err := c.sources(ctx, p.Warehouse, work.catalog)
	if err != nil {
		return work, err
	}
	var owned []counts.OwnedSource
	for source := range sources {
		work.topics.addForum(source)
		if id := formerDAO[source]; id != "" && source.Provider.IsForum() {
			work.daos[id] = true
		}
		daoID := work.catalog.OwnerOf(source)
		work.daos[daoID] = true
		owned = append(owned, counts.OwnedSource{
			PublishedSource: counts.PublishedSource{DAOID: daoID, SourceRef: source}, Flagged: work.catalog.Sources[source].Flagged,
		})
		if id, claimed := claimedDAO(work.catalog, source); claimed {
			switch _, err := p.Store.View(ctx, cache.DAODetailKey(id)); {
			case err == nil:
				work.daos[id] = true
			case !errors.Is(err, cache.ErrMiss):
				return work, err
			}
		}
	}
	moved, err := counts.ProposalsMoved(ctx, p.Warehouse, owned)
	if err != nil {
		return work, err
	}
	for source, refs := range moved {
		addAll(proposals, refs)
		if id := formerDAO[source]; id != "" {
			work.daos[id] = true
		}
	}
	if err := work.addRelated(ctx, p.Warehouse, proposals); err != nil {
		return work, err
	}
	work.proposals = slices.SortedFunc(maps.Keys(proposals), func(a, b record.RefHash) int {
		return slices.Compare(a[:], b[:])
	})
	return work, nil
}

// sources returns the sources that batches touch, and with their former DAO those that its record names no more:
// the batch of that record touches the others alone, or nothing.
func (c Changes) sources(
	ctx context.Context, w *warehouse.Warehouse, catalog records.Catalog,
) (sources map[record.SourceRef]bool, formerDAO map[record.SourceRef]string, err error) {
	sources, formerDAO = map[record.SourceRef]bool{}, map[record.SourceRef]string{}
	maps.Copy(sources, c.Sources)
	if len(c.Sources) == 0 && len(c.Proposals) > 0 {
		return sources, formerDAO, nil
	}
	published, err := counts.PublishedSources(ctx, w)
	for _, of := range published {
		if catalog.OwnerOf(of.SourceRef) != of.DAOID {
			sources[of.SourceRef] = true
			if _, exists := catalog.DAOs[of.DAOID]; exists {
				formerDAO[of.SourceRef] = of.DAOID
			}
		}
	}
	return sources, formerDAO, err
}

// claimedDAO returns the DAO that a source was by itself before another one claimed it.
func claimedDAO(catalog records.Catalog, source record.SourceRef) (id string, claimed bool) {
	_, exists := catalog.DAOs[source.ID]
	return source.ID, !exists
}

// addRelated adds the same proposals at other providers until there are no more: each states the conflicts with the
// others, and one may supersede another.
func (w *workload) addRelated(ctx context.Context, from *warehouse.Warehouse, proposals map[record.RefHash]bool) (err error) {
	var found []records.Mirror
	for known := 0; len(proposals) > known; {
		known = len(proposals)
		refs := slices.Collect(maps.Keys(proposals))
		if w.counterparts, err = counts.Counterparts(ctx, from, refs); err != nil {
			return err
		}
		for ref := range w.counterparts {
			proposals[ref] = true
		}
		if found, err = records.Mirrors(ctx, from, refs); err != nil {
			return err
		}
		for _, mirror := range found {
			proposals[mirror.Ref], proposals[mirror.Original] = true, true
		}
	}
	w.mirrors = newMirrors(found, w.catalog)
	w.mirrors.replaceIn(w.counterparts)
	return nil
}

type topicScope struct {
	// all is set in a publication of everything, and then complete.
	all    []records.TopicRef
	forums map[string]bool
	// relinked adds the topics whose links to proposals have changed since a revision.
	relinked bool
	since    uint64
}

func (s *topicScope) addForum(source record.SourceRef) {
	if source.Provider.IsForum() {
		s.forums[source.ID] = true
	}
}

func (s *topicScope) addForums(catalog records.Catalog) {
	for source := range catalog.Sources {
		s.addForum(source)
	}
}

// untold is what a publication of everything tells of in the log of changes: what a publication
// of changes would have published. Only proposals add to it, before DAOs and topics read it concurrently.
type untold struct {
	proposals map[record.RefHash]bool
	daos      map[string]bool
}

func addAll[K comparable](set map[K]bool, keys []K) {
	for _, key := range keys {
		set[key] = true
	}
}

func (u *untold) hasProposal(ref record.RefHash) bool { return u == nil || u.proposals[ref] }

func (u *untold) hasDAO(id string) bool { return u == nil || u.daos[id] }
