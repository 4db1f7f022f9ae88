package publish

import (
	"context"
	"errors"

	"pnyx/cache"
	"pnyx/governance"
	"pnyx/governance/query"
	"pnyx/warehouse/pages"
	"pnyx/warehouse/record"
)

// listBatchSize is how many rows of the list wait in memory to be written together.
const listBatchSize = 50_000

// proposalList is what one publication changes in the list of proposals. No page may show half of it: the version
// of cache.ProposalRows changes before the first row is written, the version of the list after the last, and pages are
// made only while the two are equal.
type proposalList struct {
	*run
	// completed is the revision of the last publication that wrote the list to its end: later rows are of one that
	// died, and announced now. Zero announces everything.
	completed uint64
	// writing is set once rows have been written.
	writing bool
	// rows wait to be written.
	rows []pages.ListedProposal
	// changed holds the DAOs whose pages are outdated, moved the rows that differ, with their DAOs.
	changed map[string]bool
	moved   map[governance.ProposalKey]string
}

func (r *run) newProposalList(ctx context.Context) (*proposalList, error) {
	list := &proposalList{run: r, changed: map[string]bool{}, moved: map[governance.ProposalKey]string{}}
	if r.everything {
		return list, nil
	}
	version, err := r.Store.Version(ctx, query.Proposals{}.Scope())
	if err != nil && !errors.Is(err, cache.ErrMiss) {
		return nil, err
	}
	list.completed = version.Revision
	return list, nil
}

// add adds a row if it differs from the listed one, by fingerprint: a new ballot leaves the list unchanged.
func (l *proposalList) add(
	ctx context.Context, daoID string, row pages.ListedProposal, listed map[record.RefHash]pages.ListedVersion,
) error {
	current, isListed := listed[row.Ref]
	same := isListed && current.Fingerprint == row.Fingerprint()
	if same && l.completed != 0 && current.Revision <= l.completed {
		return nil
	}
	l.changed[daoID] = true
	if l.untold.hasProposal(row.Ref) {
		l.moved[row.Key] = daoID
	}
	if same {
		return nil
	}
	if isListed && current.DAOID != "" { // a withdrawn proposal has none
		l.changed[current.DAOID] = true
	}
	if l.rows = append(l.rows, row); len(l.rows) < listBatchSize {
		return nil
	}
	return l.write(ctx)
}

// write writes the waiting rows. No page is made from then on until publish has returned.
func (l *proposalList) write(ctx context.Context) error {
	if !l.writing {
		l.writing = true
		l.writer.SetVersion(ctx, cache.ProposalRows(), 0)
		if err := l.writer.Flush(ctx); err != nil {
			return err
		}
	}
	err := pages.WriteListed(ctx, l.Warehouse, l.rows)
	l.rows = l.rows[:0]
	return err
}

// publish writes the remaining rows and changes the versions of the pages, the list of all DAOs last: if it dies
// before, the next publication announces the rows.
func (l *proposalList) publish(ctx context.Context) error {
	if l.completed != 0 && len(l.changed) == 0 {
		return nil
	}
	if err := l.write(ctx); err != nil {
		return err
	}
	for id := range l.changed {
		l.writer.SetVersion(ctx, query.Proposals{DAOID: id}.Scope(), 0)
	}
	if err := l.writer.Flush(ctx); err != nil {
		return err
	}
	l.writer.SetVersion(ctx, query.Proposals{}.Scope(), 0)
	// A client that began to follow changes after the proposal was noted with its result, and has read the list
	// before it was written, does not know the proposal yet.
	for key, daoID := range l.moved {
		l.noteChange(governance.ProposalChange, string(key), daoID)
	}
	return l.writer.Flush(ctx)
}
