package fill

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
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
