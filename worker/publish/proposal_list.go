package publish

import (
	"context"
	"errors"
	"maps"
	"slices"

	"pnyx/cache"
	"pnyx/governance"
	"pnyx/warehouse"
	"pnyx/warehouse/record"
	"pnyx/worker/fill"
)

// listedAtOnce is how many rows of the proposal list wait in memory to be written
// together, at the end of a publication.
const listedAtOnce = 50_000

// proposalList is what a publication changes in the list of proposals. Pages are
// made by fillers at any time, and none may show half of it: the mark of
// cache.ProposalRows moves before the first row is written, those of the pages when
// all are, and a page is only made while the two agree.
type proposalList struct {
	*run
	// settled is the revision of the last publication that was listed to its end; what
	// a later one has written it did not announce. Zero announces everything.
	settled uint64
	begun   bool
	rows    []warehouse.ListedProposal
	// changed holds the DAOs whose pages are out of date.
	changed map[string]bool
}

func (r *run) newProposalList(ctx context.Context, everything bool) (*proposalList, error) {
	list := &proposalList{run: r, changed: map[string]bool{}}
	if everything {
		return list, nil
	}
	mark, err := r.store.Version(ctx, cache.ProposalPage, "")
	if err != nil && !errors.Is(err, cache.ErrMiss) {
		return nil, err
	}
	list.settled = mark.Revision
	return list, nil
}

// add takes a row in, if it says something that the listed one does not.
func (l *proposalList) add(
	ctx context.Context, row warehouse.ListedProposal, listed map[record.RefHash]warehouse.ListedVersion,
) error {
	fingerprint, err := row.Fingerprint()
	if err != nil {
		return err
	}
	held, isListed := listed[row.Ref]
	same := isListed && held.Fingerprint == fingerprint
	if same && l.settled != 0 && held.Revision <= l.settled {
		return nil
	}
	l.changed[row.Identity.DAOID] = true
	if same {
		return nil
	}
	if isListed {
		l.changed[held.DAOID] = true
	}
	if l.rows = append(l.rows, row); len(l.rows) < listedAtOnce {
		return nil
	}
	return l.write(ctx)
}

// write writes the rows that wait. From then on no page is made until publish has
// ended.
func (l *proposalList) write(ctx context.Context) error {
	if !l.begun {
		l.begun = true
		if err := l.writer.SetVersion(ctx, cache.ProposalRows, "", 0); err != nil {
			return err
		}
		if err := l.writer.Flush(ctx); err != nil {
			return err
		}
	}
	err := l.warehouse.WriteListed(ctx, l.rows)
	l.rows = l.rows[:0]
	return err
}

// publish writes the rest of the rows and the first pages, and moves the marks, the
// one for all DAOs last: until it is there a later publication announces what this
// one has written.
func (l *proposalList) publish(ctx context.Context) error {
	if l.settled != 0 && len(l.changed) == 0 {
		return nil
	}
	if err := l.write(ctx); err != nil {
		return err
	}
	if err := l.writeCommonPages(ctx); err != nil {
		return err
	}
	for daoIDs := range slices.Chunk(slices.Sorted(maps.Keys(l.changed)), daoBatchSize) {
		if err := l.writeFirstPages(ctx, daoIDs); err != nil {
			return err
		}
	}
	if err := l.writer.Flush(ctx); err != nil {
		return err
	}
	if err := l.writer.SetVersion(ctx, cache.ProposalPage, "", 0); err != nil {
		return err
	}
	return l.writer.Flush(ctx)
}

// writeCommonPages writes the first pages over all DAOs that are asked for most:
// what is new, what is going on, and what ends next.
func (l *proposalList) writeCommonPages(ctx context.Context) error {
	active := cache.Filter{Lifecycles: []string{string(governance.Active)}}
	for _, request := range []cache.PageRequest{
		{Order: governance.SortUpdated},
		{Order: governance.SortUpdated, Filter: active},
		{Order: governance.SortEnding},
		{Order: governance.SortEnding, Filter: active},
	} {
		request.Kind, request.Limit = cache.ProposalPage, cache.ShortPage
		rows, err := fill.ListProposals(ctx, l.warehouse, request)
		if err != nil {
			return err
		}
		if err := l.writePage(ctx, request, rows); err != nil {
			return err
		}
	}
	return nil
}

// writeFirstPages writes the first page of each DAO, and moves its mark.
func (l *proposalList) writeFirstPages(ctx context.Context, daoIDs []string) error {
	first, err := l.warehouse.FirstProposals(ctx, daoIDs, cache.ShortPage+1)
	if err != nil {
		return err
	}
	for _, id := range daoIDs {
		request := cache.PageRequest{
			Kind: cache.ProposalPage, Order: governance.SortUpdated, Limit: cache.ShortPage, Filter: cache.Filter{DAOID: id},
		}
		if rows, complete := first[id]; complete {
			if err := l.writePage(ctx, request, rows); err != nil {
				return err
			}
		}
		if err := l.writer.SetVersion(ctx, cache.ProposalPage, id, 0); err != nil {
			return err
		}
	}
	return nil
}

func (l *proposalList) writePage(ctx context.Context, r cache.PageRequest, rows []warehouse.ListedProposal) error {
	view, err := cache.NewView(l.head(), fill.ProposalRows(rows, r.Order))
	if err != nil {
		return err
	}
	return l.writer.SetPage(ctx, r, view)
}
