package publish

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"

	"pnyx/cache"
	"pnyx/governance"
	"pnyx/governance/query"
	"pnyx/warehouse/counts"
	"pnyx/warehouse/pages"
)

type daoPublication struct {
	*run
	// Lagging and VoteCoverage are the result's: d.Input has them of the publication before.
	daoResult
	// counted is the participation in Input.Lagging as of the proposals' count; ranged are counted by ranges.
	counted map[string]counts.Participation
	ranged  map[string]bool
}

func (d *daoPublication) publish(ctx context.Context) error {
	ids := slices.Sorted(maps.Keys(d.daos))
	totals, err := d.totals(ctx, ids)
	if err != nil {
		return err
	}
	for ids := range slices.Chunk(ids, daoBatchSize) {
		participation, err := d.participationOf(ctx, ids)
		if err != nil {
			return err
		}
		for _, id := range ids {
			if err := d.publishDAO(ctx, id, totals[id], participation[id]); err != nil {
				return err
			}
		}
	}
	d.writeGlobalStatus(ctx)
	return nil
}

// totals sums up the DAOs to publish, and updates VoteCoverage with them; the first publication of a term sums up
// all. A state that changed is one of a DAO to publish.
func (d *daoPublication) totals(ctx context.Context, ids []string) (totals map[string]counts.DAOTotals, err error) {
	if d.VoteCoverage != nil && len(ids) <= daoBatchSize {
		totals, err = counts.DAOTotalsOf(ctx, d.Warehouse, ids)
	} else {
		totals, err = counts.AllDAOTotals(ctx, d.Warehouse)
		ids = slices.Collect(maps.Keys(d.catalog.DAOs))
		d.VoteCoverage = make(map[string]governance.VoteCoverage, len(ids))
	}
	for _, id := range ids {
		d.VoteCoverage[id] = daoVoteCoverage(totals[id])
	}
	return totals, err
}

func (d *daoPublication) participationOf(ctx context.Context, ids []string) (map[string]counts.Participation, error) {
	known := map[string]counts.Participation{}
	var uncounted []string
	for _, id := range ids {
		// The ranges of a DAO are dropped when a proposal comes or leaves.
		if d.Input.Lagging[id] && (!d.ranged[id] || d.voters.has(id)) {
			known[id] = d.counted[id]
		} else {
			uncounted = append(uncounted, id)
		}
	}
	var found map[string]counts.Participation
	var err error
	if d.everything {
		found, err = counts.StoredParticipation(ctx, d.Warehouse, uncounted)
	} else {
		found, _, err = d.voters.of(ctx, d.Warehouse, uncounted)
	}
	if err != nil {
		return nil, err
	}
	maps.Copy(found, known)
	return found, nil
}

func (d *daoPublication) writeGlobalStatus(ctx context.Context) {
	var statuses []governance.DataStatus
	for id, dao := range d.catalog.DAOs {
		status := evaluateDAO(dao, d.catalog, counts.DAOTotals{}).status
		status.VoteCoverageStatus = cmp.Or(d.VoteCoverage[id], status.VoteCoverageStatus)
		statuses = append(statuses, status)
	}
	d.writer.SetPayload(ctx, cache.DataStatusKey(""), d.head(), globalStatus(statuses))
}

// publishDAO writes one DAO. While its proposals do not sum to its ballots it is lagging: the detail keeps its
// previous numbers, or is withheld.
func (d *daoPublication) publishDAO(
	ctx context.Context, id string, totals counts.DAOTotals, participation counts.Participation,
) error {
	dao, exists := d.catalog.DAOs[id]
	if !exists {
		d.noteDAO(id)
		d.removeDAO(ctx, id)
		return nil
	}
	e := evaluateDAO(dao, d.catalog, totals)
	e.participation = participation
	d.Classes[id] = daoClassOf(totals.Votes)
	if err := e.balance(); err != nil {
		// Most often ballots land while we count, and are counted next: only a second time in a row is reported.
		if d.Input.Lagging[id] {
			d.reportUnbalanced(ctx, err, slog.String("dao_id", id), d.At, nil, dao.Sources)
			d.voters.drop(id)
		}
		d.Lagging[id] = true
		kept, err := d.keepPrevious(ctx, id)
		if err != nil || kept {
			return err
		}
		e.withheld, d.Withheld[id] = true, true
	}
	if participation.Votes >= d.daoRangedFrom {
		d.voters.want(id, !d.everything)
	}
	d.WrittenDAOs[id] = true
	d.noteDAO(id)
	d.writeDAO(ctx, e)
	return nil
}

func (d *daoPublication) noteDAO(id string) {
	if d.untold.hasDAO(id) {
		d.noteChange(governance.DAOChange, id, id)
	}
}

// keepPrevious notes on the published detail since when newer numbers are due, so that answers say if it is stale,
// and reports whether there is one.
func (d *daoPublication) keepPrevious(ctx context.Context, id string) (kept bool, err error) {
	key := cache.DAODetailKey(id)
	view, err := d.Store.View(ctx, key)
	switch {
	case errors.Is(err, cache.ErrMiss):
		return false, nil
	case err != nil:
		return false, err
	}
	if view.IsWithheld() {
		d.Withheld[id] = true
	}
	if view.FreshUntil != nil {
		return true, nil
	}
	due := governance.TimestampOf(d.At)
	switch {
	case d.everything: // what it lacks is unknown: it may be of a worker that ended long ago
		due = view.DataAsOf
	case !d.CommittedAt.IsZero():
		due = governance.TimestampOf(d.CommittedAt)
	}
	view.FreshUntil = &due
	d.writer.SetView(ctx, key, view)
	return true, nil
}

func (d *daoPublication) writeDAO(ctx context.Context, e daoEvaluation) {
	if key := cache.DAODetailKey(e.dao.ID); e.withheld { // the one view that contains sums over the DAO's ballots
		d.writer.SetWithheld(ctx, key, d.head())
	} else {
		d.writer.SetPayload(ctx, key, d.head(), e.detail())
	}
	d.writer.SetPayload(ctx, cache.DataStatusKey(e.dao.ID), d.head(), e.status)
	for _, timeline := range e.timelines() {
		head := d.head()
		if timeline.Metric == governance.VotesCast {
			head.VoteCoverage = e.status.VoteCoverageStatus
		}
		d.writer.SetPayload(ctx, cache.TimelineKey(e.dao.ID, timeline.Metric), head, timeline)
	}
	if voters := (query.Voters{DAOID: e.dao.ID}).Scope(); e.totals.Votes >= pages.SortedCopyThreshold {
		d.writer.InitVersion(ctx, voters) // it changes when the sorted copy is built
	} else {
		d.writer.SetVersion(ctx, voters, 0)
	}
	d.writer.SetDAO(ctx, d.head(), e.listItem())
}

func (d *daoPublication) removeDAO(ctx context.Context, id string) {
	d.writer.RemoveView(ctx, cache.DAODetailKey(id))
	d.writer.RemoveView(ctx, cache.DataStatusKey(id))
	for _, metric := range governance.TimelineMetrics() {
		d.writer.RemoveView(ctx, cache.TimelineKey(id, metric))
	}
	d.writer.RemoveVersion(ctx, query.Voters{DAOID: id}.Scope())
	d.writer.RemoveDAO(ctx, d.head(), id)
}
