package fill

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"pnyx/cache"
	"pnyx/governance"
	"pnyx/governance/query"
	"pnyx/warehouse"
	"pnyx/warehouse/pages"
	"pnyx/warehouse/record"
)

// errPartChanged means that the rows which a digest names cannot be read any more.
var errPartChanged = errors.New("the rows of the part have changed")

// daoPart builds a part of an export. It is absent where the rows of the digest cannot be read any more.
func (p *page) daoPart(ctx context.Context, q query.DAOPart) (any, error) {
	if err := p.setPublishedHead(ctx, manifestTTL); err != nil {
		return nil, err
	}
	p.head.FreshUntil = nil
	part, err := p.findPart(ctx, q)
	if err != nil {
		return nil, err
	}
	file, err := compressRows(q.Format, func(w io.Writer) error {
		part.to = newRowWriter[governance.DAOExportRow](w, q.Format)
		if err := part.writeUnits(ctx); err != nil {
			return err
		}
		return part.to.flush()
	})
	if errors.Is(err, errPartChanged) || errors.Is(err, cache.ErrMiss) { // or a proposal or topic is gone
		return nil, errAbsent
	}
	if err != nil {
		return nil, fmt.Errorf("write part %s of %s: %w", q.Digest, q.DAOID, err)
	}
	return file, nil
}

type partWriter struct {
	*page
	rows  pages.DAORows
	daoID string
	units []cache.ExportUnit
	// since and until are the places in the log of changes that select events; zero for all.
	since, until uint64
	to           rowWriter[governance.DAOExportRow]
}

// findPart finds the units of a part in the stored manifest, or else in the current one, or returns errAbsent.
func (p *page) findPart(ctx context.Context, q query.DAOPart) (*partWriter, error) {
	whole := query.DAOExport{DAOID: q.DAOID, Since: q.Since}
	var export cache.DAOExport
	stored, _, err := p.Store.Page(ctx, cache.NewPageRequest(whole))
	if err == nil && !stored.Absent {
		err = stored.Decode(&export)
	}
	if err != nil && !errors.Is(err, cache.ErrMiss) {
		return nil, err
	}
	isPart := func(part governance.DAOExportPart) bool { return part.Digest == q.Digest }
	i := slices.IndexFunc(export.Parts, isPart)
	if i < 0 {
		if export, err = p.planExport(ctx, whole); err != nil {
			return nil, err
		}
		if i = slices.IndexFunc(export.Parts, isPart); i < 0 {
			return nil, errAbsent
		}
	}
	part := &partWriter{page: p, rows: pages.NewDAORows(p.Warehouse, q.DAOID), daoID: q.DAOID, units: export.Units[i]}
	if q.Since != 0 {
		var until uint64
		if _, err := fmt.Sscan(string(export.Revision), &until); err != nil {
			return nil, fmt.Errorf("read the revision of an export: %w", err)
		}
		part.since, part.until = uint64(q.Since)/1000, until/1000 //nolint:gosec // not negative
	}
	return part, nil
}

// writeUnits writes the units, exportChunk at a time: the ballots of a chunk are at most as many as a part has.
func (w *partWriter) writeUnits(ctx context.Context) error {
	for chunk := range slices.Chunk(w.units, exportChunk) {
		for len(chunk) > 0 {
			n := 1
			same := func(unit cache.ExportUnit) bool {
				return unit.Removed == chunk[0].Removed && ofProposal(unit) == ofProposal(chunk[0]) &&
					(ofProposal(unit) || unit.Kind == chunk[0].Kind)
			}
			for n < len(chunk) && same(chunk[n]) {
				n++
			}
			if err := w.writeAlike(ctx, chunk[:n]); err != nil {
				return err
			}
			chunk = chunk[n:]
		}
	}
	return nil
}

func ofProposal(unit cache.ExportUnit) bool {
	return unit.Kind == governance.ProposalRows || unit.Kind == governance.BallotRows
}

func (w *partWriter) writeAlike(ctx context.Context, units []cache.ExportUnit) error {
	switch {
	case units[0].Removed:
		for _, unit := range units {
			if err := w.to.write(governance.DAOExportRow{Kind: unit.Kind, Key: unit.Key, Removed: true}); err != nil {
				return err
			}
		}
		return nil
	case units[0].Kind == governance.TopicRows:
		return w.writeTopics(ctx, units)
	case units[0].Kind == governance.EventRows:
		return w.writeEvents(ctx, units)
	}
	return w.writeProposals(ctx, units)
}

func (w *partWriter) writeProposals(ctx context.Context, units []cache.ExportUnit) error {
	var keys []governance.ProposalKey
	var small []record.RefHash
	rows := 0
	for _, unit := range units {
		if key := governance.ProposalKey(unit.Key); !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
		if unit.Kind == governance.BallotRows && unit.Generation == 0 {
			small, rows = append(small, unit.Ref), rows+unit.Rows
		}
	}
	views, err := w.proposalViews(ctx, keys)
	if err != nil {
		return err
	}
	ballots, versions := map[record.RefHash][]pages.LatestBallot{}, map[record.RefHash]pages.BallotsVersion{}
	if len(small) > 0 {
		if ballots, err = w.rows.Ballots(ctx, small, rows+1); err != nil {
			return err
		}
		// After the ballots: what was read is what the versions name only if they are still the same.
		if versions, err = w.rows.BallotVersions(ctx, small); err != nil {
			return err
		}
	}
	for _, unit := range units {
		view := views[governance.ProposalKey(unit.Key)]
		if unit.Kind == governance.ProposalRows {
			if !slices.Equal(view.hash, unit.Hash) {
				return errPartChanged
			}
			row := governance.DAOExportRow{Kind: unit.Kind, Key: unit.Key, Proposal: &view.detail.ProposalDetail, Votes: &view.summary}
			if err := w.to.write(row); err != nil {
				return err
			}
			continue
		}
		if err := w.writeBallots(ctx, unit, view.choices(), ballots[unit.Ref], versions[unit.Ref]); err != nil {
			return err
		}
	}
	return nil
}

// writeBallots writes ballots of a proposal: small ones as they were read, others of a sorted copy.
func (w *partWriter) writeBallots(
	ctx context.Context, unit cache.ExportUnit, choices voteChoices, rows []pages.LatestBallot, version pages.BallotsVersion,
) (err error) {
	votes := version.Votes
	if unit.Generation != 0 {
		copied, err := pages.CountCopiedBallots(ctx, w.Warehouse, unit.Generation)
		if err != nil {
			return err
		}
		at := pages.BallotSource{Ref: unit.Ref, Generation: unit.Generation}
		if rows, err = pages.ExportBallots(ctx, w.Warehouse, at, unit.Slice+1, query.DAOPartRows); err != nil {
			return err
		}
		votes = copied.Votes
	}
	if len(rows) != unit.Rows || !slices.Equal(unit.Hash, ballotsHash(choices, votes, version.Hash, unit.Generation)) {
		return errPartChanged
	}
	for chunk := range slices.Chunk(rows, query.LongPage) { // labels of all rows may be large
		for _, ballot := range ballotRows(chunk, choices) {
			if err := w.to.write(governance.DAOExportRow{Kind: unit.Kind, Key: unit.Key, Ballot: &ballot.ExportedBallot}); err != nil {
				return err
			}
		}
	}
	return nil
}

func (w *partWriter) writeTopics(ctx context.Context, units []cache.ExportUnit) error {
	keys := warehouse.Values(units, func(unit cache.ExportUnit) governance.TopicKey { return governance.TopicKey(unit.Key) })
	views, err := w.topicViews(ctx, keys)
	if err != nil {
		return err
	}
	for i, unit := range units {
		if !slices.Equal(unit.Hash, hashOf(views[i].Payload)) {
			return errPartChanged
		}
		var topic governance.ForumTopicDetail
		if err := views[i].Decode(&topic); err != nil {
			return err
		}
		if err := w.to.write(governance.DAOExportRow{Kind: unit.Kind, Key: unit.Key, Topic: &topic}); err != nil {
			return err
		}
	}
	return nil
}

// writeEvents writes the events of units, which are in the order of their days.
func (w *partWriter) writeEvents(ctx context.Context, units []cache.ExportUnit) error {
	from, errFrom := time.Parse(time.DateOnly, units[0].Key)
	last, errLast := time.Parse(time.DateOnly, units[len(units)-1].Key)
	if err := errors.Join(errFrom, errLast); err != nil {
		return fmt.Errorf("read the day of a unit: %w", err)
	}
	plan := exportPlan{page: w.page, rows: w.rows}
	if w.until != 0 {
		if oldest, err := plan.selectChanges(ctx, w.since, w.until); err != nil || oldest != nil {
			return errors.Join(err, errPartChanged)
		}
	}
	dao, err := w.Store.DAORow(ctx, w.daoID)
	if err != nil {
		return err
	}
	// Rows before the first slice of its day are in the part before.
	hash, written, skipped := sha256.New(), 0, units[0].Slice*query.DAOPartRows
	err = w.rows.Events(ctx, from, last.AddDate(0, 0, 1), func(row governance.EventRow) error {
		if !plan.selects(governance.EventRows, row.EventID) {
			return nil
		}
		if skipped > 0 {
			skipped--
			return nil
		}
		if len(units) == 0 {
			return nil // in the part after, or came to be since
		}
		row.DAOName = dao.Name
		if err := json.NewEncoder(hash).Encode(row.Event); err != nil {
			return err
		}
		if written++; written == units[0].Rows {
			if !slices.Equal(units[0].Hash, hash.Sum(nil)[:16]) {
				return errPartChanged
			}
			hash.Reset()
			written, units = 0, units[1:]
		}
		return w.to.write(governance.DAOExportRow{Kind: governance.EventRows, Key: row.EventID, Event: &row.Event})
	})
	if err == nil && len(units) > 0 {
		return errPartChanged
	}
	return err
}
