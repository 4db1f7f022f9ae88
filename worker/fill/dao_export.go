package fill

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/vmihailenco/msgpack/v5"

	"pnyx/cache"
	"pnyx/governance"
	"pnyx/governance/query"
	"pnyx/warehouse"
	"pnyx/warehouse/counts"
	"pnyx/warehouse/pages"
	"pnyx/warehouse/record"
)

const (
	exportChunk = 200
	// textPerRow is how many bytes of a proposal or topic count as one row of a part.
	textPerRow = 256
)

func (p *page) daoExport(ctx context.Context, q query.DAOExport) (any, error) {
	if err := p.setPublishedHead(ctx, manifestTTL); err != nil {
		return nil, err
	}
	p.head.Revision-- // stale after manifestTTL: no publication tells of events and sorted copies
	export, err := p.planExport(ctx, q)
	if errors.Is(err, cache.ErrMiss) { // of what is being published, or of a copy that is being made
		err = errWithheld
	}
	return export, err
}

// exportPlan divides the rows of a DAO into units and these into parts.
type exportPlan struct {
	*page
	rows           pages.DAORows
	daoID, daoName string
	// changed are the keys of an export of changes, by kind; nil selects all.
	changed map[governance.ExportRowKind]map[string]bool
	// parts are the units of each part, and size the rows of the last one.
	parts [][]cache.ExportUnit
	size  int
}

// planExport returns a manifest. The error is errAbsent for a DAO that is not published.
func (p *page) planExport(ctx context.Context, q query.DAOExport) (export cache.DAOExport, err error) {
	dao, err := p.Store.DAORow(ctx, q.DAOID)
	if errors.Is(err, cache.ErrMiss) {
		return export, errAbsent
	} else if err != nil {
		return export, err
	}
	// What is published from here on is told after this place.
	head, err := p.Store.ChangeHead(ctx)
	if err == nil && !head.Exists {
		err = fmt.Errorf("%w: there are no changes yet", cache.ErrMiss)
	}
	if err != nil {
		return export, err
	}
	export.DAOID, export.Revision = q.DAOID, governance.CountOf(head.Last.Time*1000)
	own := *p // its head is not the manifest's
	plan := exportPlan{page: &own, rows: pages.NewDAORows(p.Warehouse, q.DAOID), daoID: q.DAOID, daoName: dao.Name}
	if q.Since != 0 {
		export.Since = new(governance.CountOf(uint64(q.Since)))                                                                     //nolint:gosec // not negative
		if export.Oldest, err = plan.selectChanges(ctx, uint64(q.Since)/1000, head.Last.Time); err != nil || export.Oldest != nil { //nolint:gosec // not negative
			return export, err
		}
	}
	for _, add := range []func(context.Context) error{plan.addProposals, plan.addTopics, plan.addEvents} {
		if err := add(ctx); err != nil {
			return export, err
		}
	}
	for _, kind := range governance.ExportRowKinds() { // what changed and nothing has any more
		for _, key := range slices.Sorted(maps.Keys(plan.changed[kind])) {
			plan.add(cache.ExportUnit{Kind: kind, Key: key, Removed: true, Rows: 1}, 1)
		}
	}
	export.Units, export.Parts = plan.parts, make([]governance.DAOExportPart, len(plan.parts))
	for i, units := range plan.parts {
		if export.Parts[i], err = describePart(units); err != nil {
			return export, err
		}
	}
	export.Rows = countRows(slices.Concat(plan.parts...))
	return export, nil
}

// selectChanges restricts the plan to changes after a place in the log, up to another. Where the log does not have
// it, it returns where the log begins.
func (p *exportPlan) selectChanges(ctx context.Context, after, until uint64) (oldest *governance.Timestamp, err error) {
	log, err := counts.NewChangeLog(p.Warehouse).Position(ctx, counts.LogPosition)
	if err != nil {
		return nil, err
	}
	if log == nil {
		return nil, fmt.Errorf("%w: there are no changes yet", cache.ErrMiss)
	}
	began := max(log.Epoch/1000, until-min(until, uint64(cache.ChangeTTL/time.Millisecond)))
	if after < began || after > until {
		return new(governance.Timestamp(began)), nil //nolint:gosec // a time
	}
	changes, err := p.rows.Changes(ctx, log.Epoch, after, until)
	p.changed = map[governance.ExportRowKind]map[string]bool{
		governance.ProposalRows: {}, governance.TopicRows: {}, governance.EventRows: {},
	}
	for _, change := range changes {
		if keys := p.changed[governance.ExportRowKind(change.Kind)]; keys != nil {
			keys[change.Key] = true
		}
	}
	return nil, err
}

// selects reports whether a row is exported. What is left of the selected keys at the end is gone.
func (p *exportPlan) selects(kind governance.ExportRowKind, key string) bool {
	selected := p.changed == nil || p.changed[kind][key]
	if selected {
		delete(p.changed[kind], key)
	}
	return selected
}

func (p *exportPlan) add(unit cache.ExportUnit, size int) {
	if len(p.parts) == 0 || p.size+size > query.DAOPartRows {
		p.parts, p.size = append(p.parts, nil), 0
	}
	last := len(p.parts) - 1
	p.parts[last], p.size = append(p.parts[last], unit), p.size+size
}

func (p *exportPlan) addProposals(ctx context.Context) error {
	proposals, err := p.rows.Proposals(ctx)
	if err != nil {
		return err
	}
	proposals = slices.DeleteFunc(proposals, func(found pages.DAOProposal) bool {
		return !p.selects(governance.ProposalRows, string(found.Key))
	})
	for chunk := range slices.Chunk(proposals, exportChunk) {
		keys := make([]governance.ProposalKey, len(chunk))
		var small []record.RefHash
		for i, proposal := range chunk {
			if keys[i] = proposal.Key; proposal.Votes < pages.SortedCopyThreshold {
				small = append(small, proposal.Ref)
			}
		}
		views, err := p.proposalViews(ctx, keys)
		if err != nil {
			return err
		}
		versions, err := p.rows.BallotVersions(ctx, small)
		if err != nil {
			return err
		}
		for _, proposal := range chunk {
			view := views[proposal.Key]
			p.add(cache.ExportUnit{
				Kind: governance.ProposalRows, Key: string(proposal.Key), Rows: 1, Hash: view.hash, Final: proposal.Final,
			}, view.size)
			if err := p.addBallots(ctx, proposal, view.choices(), versions[proposal.Ref]); err != nil {
				return err
			}
		}
	}
	return nil
}

func (p *exportPlan) addBallots(
	ctx context.Context, of pages.DAOProposal, choices voteChoices, version pages.BallotsVersion,
) error {
	unit := cache.ExportUnit{Kind: governance.BallotRows, Key: string(of.Key), Ref: of.Ref, Final: of.Final}
	votes := version.Votes
	if of.Votes >= pages.SortedCopyThreshold {
		copied, err := pages.CountCopiedBallots(ctx, p.Warehouse, of.Generation)
		if err != nil {
			return err
		}
		if copied.Votes == 0 {
			return fmt.Errorf("%w: the sorted copy of %s is not there yet", cache.ErrMiss, of.Key)
		}
		if !of.Final {
			if err := p.Store.KeepExport(ctx, of.Key, of.Generation); err != nil {
				return err
			}
		}
		votes, version.Hash, unit.Generation = copied.Votes, 0, of.Generation
	}
	unit.Hash = ballotsHash(choices, votes, version.Hash, unit.Generation)
	all := int(votes) //nolint:gosec // of one vote
	for first := 0; first < all; first += query.DAOPartRows {
		unit.Rows = min(query.DAOPartRows, all-first)
		p.add(unit, unit.Rows)
		unit.Slice++
	}
	return nil
}

// ballotsHash names the ballots of a proposal, with their labels.
func ballotsHash(choices voteChoices, votes, version, generation uint64) []byte {
	return hashOf(fmt.Appendf(nil, "%s %d %d %d", exported{choices: choices}.copyRevision(generation), votes, version, generation))
}

func (p *exportPlan) addTopics(ctx context.Context) error {
	keys, err := p.rows.Topics(ctx)
	if err != nil {
		return err
	}
	keys = slices.DeleteFunc(keys, func(key governance.TopicKey) bool { return !p.selects(governance.TopicRows, string(key)) })
	for chunk := range slices.Chunk(keys, exportChunk) {
		views, err := p.topicViews(ctx, chunk)
		if err != nil {
			return err
		}
		for i, key := range chunk {
			p.add(cache.ExportUnit{Kind: governance.TopicRows, Key: string(key), Rows: 1, Hash: hashOf(views[i].Payload)},
				1+len(views[i].Payload)/textPerRow)
		}
	}
	return nil
}

// addEvents adds the events of each day. A day has more than one unit where they are too many.
func (p *exportPlan) addEvents(ctx context.Context) error {
	unit := cache.ExportUnit{Kind: governance.EventRows}
	hash := sha256.New()
	end := func() {
		if unit.Rows > 0 {
			unit.Hash = hash.Sum(nil)[:16]
			p.add(unit, unit.Rows)
		}
		hash.Reset()
	}
	shown, err := p.shownUntil(ctx, query.Events{DAOID: p.daoID}.Scope())
	if err != nil {
		return err
	}
	err = p.rows.Events(ctx, time.UnixMilli(0), shown.Time().Add(time.Millisecond), func(row governance.EventRow) error {
		if !p.selects(governance.EventRows, row.EventID) {
			return nil
		}
		day := row.EventTimeMs.Time().UTC().Format(time.DateOnly)
		if day != unit.Key || unit.Rows == query.DAOPartRows {
			end()
			slice := 0
			if day == unit.Key {
				slice = unit.Slice + 1
			}
			unit = cache.ExportUnit{Kind: governance.EventRows, Key: day, Slice: slice}
		}
		unit.Rows++
		row.DAOName = p.daoName
		return json.NewEncoder(hash).Encode(row.Event)
	})
	end()
	return err
}

func describePart(units []cache.ExportUnit) (part governance.DAOExportPart, err error) {
	text, err := msgpack.Marshal(units)
	if err != nil {
		return part, fmt.Errorf("encode a part of an export: %w", err)
	}
	part.Digest = shortDigest(append(text, exportFormat...), 16)
	part.Rows = countRows(units)
	part.Final = !slices.ContainsFunc(units, func(unit cache.ExportUnit) bool { return !unit.Final })
	return part, nil
}

func countRows(units []cache.ExportUnit) (rows governance.ExportRowCounts) {
	counts := map[governance.ExportRowKind]*int{
		governance.ProposalRows: &rows.Proposals, governance.BallotRows: &rows.Ballots,
		governance.TopicRows: &rows.Topics, governance.EventRows: &rows.Events,
	}
	for _, unit := range units {
		if unit.Removed {
			rows.Removed += unit.Rows
		} else {
			*counts[unit.Kind] += unit.Rows
		}
	}
	return rows
}

func hashOf(text []byte) []byte {
	sum := sha256.Sum256(text)
	return sum[:16]
}

type proposalView struct {
	detail  governance.ProposalRow
	summary governance.VoteSummary
	// hash names both, and size is how many rows of a part they take up.
	hash []byte
	size int
}

func (v proposalView) choices() voteChoices { return choicesOf(v.detail.Choices, v.detail.Bounds) }

// proposalViews reads proposals. The error is cache.ErrMiss if one is missing.
func (p *page) proposalViews(
	ctx context.Context, keys []governance.ProposalKey,
) (map[governance.ProposalKey]proposalView, error) {
	names := make([]cache.Key, 0, 2*len(keys))
	for _, key := range keys {
		names = append(names, cache.ProposalDetailKey(key), cache.VoteSummaryKey(key))
	}
	views, err := cache.ReadViews(ctx, p.Store, names)
	if err != nil {
		return nil, fmt.Errorf("read proposals: %w", err)
	}
	found := make(map[governance.ProposalKey]proposalView, len(keys))
	for i, key := range keys {
		detail, summary := views[2*i], views[2*i+1]
		v := proposalView{
			hash: hashOf(slices.Concat(detail.Payload, summary.Payload)),
			size: 1 + (len(detail.Payload)+len(summary.Payload))/textPerRow,
		}
		if err := errors.Join(detail.Decode(&v.detail), summary.Decode(&v.summary)); err != nil {
			return nil, fmt.Errorf("read proposal %s: %w", key, err)
		}
		v.detail.Related = governance.RelatedTo(key)
		found[key] = v
	}
	return found, nil
}

func (p *page) topicViews(ctx context.Context, keys []governance.TopicKey) ([]cache.View, error) {
	views, err := cache.ReadViews(ctx, p.Store, warehouse.Values(keys, cache.TopicDetailKey))
	if err != nil {
		return nil, fmt.Errorf("read topics: %w", err)
	}
	return views, nil
}

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
