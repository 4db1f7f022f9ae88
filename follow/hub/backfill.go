package hub

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"pnyx/fetch"
	"pnyx/governance"
	"pnyx/warehouse"
	"pnyx/warehouse/record"
	"pnyx/warehouse/records"
)

const (
	// proposalsPage is the number of proposals, with their texts, in one page of a backfill.
	proposalsPage = 100
	// fewVotes are read of the first space before other spaces are listed.
	fewVotes = 5 * maxFirst
)

const (
	describing = ""
	listing    = "proposals"
	counting   = "votes"
	done       = "done"
)

type backfillPosition struct {
	// Phase is what is being read: the space, its proposals, or its votes.
	Phase string `json:"phase"`
	// Began is when the votes of the whole space began to be read, From the time up to which
	// they were; Each is true from when on those are read poll by poll that are still missing.
	Began int64 `json:"began,omitempty"`
	From  int64 `json:"from,omitempty"`
	Each  bool  `json:"each,omitempty"`
	// Until is the time down to which proposals were read, and Skip the number of proposals, or
	// of votes, that were read of the very second.
	Until int64 `json:"until,omitempty"`
	Skip  int   `json:"skip,omitempty"`
	// Listed is the number of proposals that were listed. Cut is true if that were too many.
	Listed int  `json:"listed,omitempty"`
	Cut    bool `json:"cut,omitempty"`
	// Withheld is the time before which the hub withheld the proposals; 0 for none.
	Withheld int64 `json:"withheld,omitempty"`
	// Since is the message since which the log was read when the backfill began. Anew is when it began anew,
	// because the space had not been followed for a while; 0 for never.
	Since int64 `json:"since,omitempty"`
	Anew  int64 `json:"anew,omitempty"`
}

// in returns the beginning of a phase, with what keeps the space from being complete.
func (at backfillPosition) in(phase string) backfillPosition {
	return backfillPosition{Phase: phase, Cut: at.Cut, Withheld: at.Withheld, Since: at.Since, Anew: at.Anew}
}

// beginAnew begins the backfill anew of spaces whose messages passed while they were not followed.
func (p *reader) beginAnew(ctx context.Context) error {
	var log logPosition
	p.journal.At(sourceRef(""), logPoller, &log)
	var cursors []records.FollowCursor
	p.since = map[string]int64{}
	for _, space := range p.Spaces {
		since, known := log.Since[space]
		if !known && log.Since != nil {
			since = log.MCI
		}
		p.since[space] = since
		cursor, at := p.past(space)
		if at.Phase == describing || at.Since >= since {
			continue
		}
		cursor.SetPosition(backfillPosition{Phase: listing, Since: since, Anew: p.Clock.Now().Unix()})
		if cursor.Done, cursor.Total = 0, 0; cursor.State != governance.SourceMissing {
			cursor.State = governance.SourceBackfilling
		}
		sweep := p.spaceCursor(space, sweepPoller)
		sweep.SetPosition(sweepPosition{})
		cursors = append(cursors, cursor, sweep)
	}
	return p.journal.Commit(ctx, nil, cursors...)
}

func (p *reader) backfilled(space string) bool {
	_, at := p.past(space)
	return at.Phase == done
}

// backfillDue reports whether the backfill will read the votes of an item.
func (p *reader) backfillDue(id string, i *item) bool {
	return !p.backfilled(i.space) && i.Walked == 0 && !p.walked[id]
}

type backfiller struct{ *reader }

// backfill reads the past, a page a run: the proposals of all spaces, then the votes, those on open proposals first.
// One space with few votes is read before all others.
func (p backfiller) backfill(ctx context.Context) (more bool, err error) {
	if p.filling == nil {
		next, more, err := p.backfillStep(ctx)
		if err != nil || next == nil {
			return more && err == nil, err
		}
		p.filling = p.newWalk(backfillPoller, *next)
	}
	w := p.filling
	more, err = w.step(ctx)
	p.turn.Lock()
	defer p.turn.Unlock()
	if p.loaded && p.putOff(w, err) {
		p.filling, p.walked[w.id] = nil, true
		err = errors.Join(err, w.noteUnread(ctx, err))
	}
	if more || err != nil {
		return err == nil, err
	}
	p.filling = nil
	cursor := p.spaceCursor(w.space, backfillPoller)
	cursor.Done = min(cursor.Done+min(w.stated, maxWalked), cursor.Total)
	return true, p.commit(ctx, cursor, findings{})
}

// backfillStep reads a space or a page of proposals, or returns the proposal whose votes are next. more is false
// when everything is read.
func (p backfiller) backfillStep(ctx context.Context) (next *due, more bool, err error) {
	p.turn.Lock()
	defer p.turn.Unlock()
	if err := messageLog(p).startLog(ctx); err != nil {
		return nil, false, err
	}
	byPhase, listed, votes := map[string][]string{}, map[string]int{}, map[string]uint64{}
	for _, space := range p.Spaces {
		if _, missing := p.missing[space]; missing {
			continue
		}
		cursor, at := p.past(space)
		byPhase[at.Phase], listed[space], votes[space] = append(byPhase[at.Phase], space), at.Listed, cursor.Total
	}
	// Small spaces come first: most DAOs are whole soon. One is before others are listed.
	slices.SortStableFunc(byPhase[counting], func(a, b string) int { return cmp.Or(p.failed[a]-p.failed[b], cmp.Compare(votes[a], votes[b])) })
	slices.SortStableFunc(byPhase[listing], func(a, b string) int { return cmp.Or(p.failed[a]-p.failed[b], listed[a]-listed[b]) })
	counted := byPhase[counting]
	first := len(byPhase[done]) == 0 && len(counted) > 0 && votes[counted[0]] <= fewVotes
	if first {
		counted = counted[:1]
	}
	switch {
	case len(byPhase[describing]) > 0:
		return nil, true, p.describe(ctx, byPhase[describing])
	case len(byPhase[listing]) > 0 && !first && (len(counted) == 0 || p.failed[byPhase[listing][0]] <= p.failed[counted[0]]):
		return nil, true, p.failed.note(byPhase[listing][0], p.backfillProposals(ctx, byPhase[listing][0]))
	case len(counted) > 0:
		next, err := p.nextVotes(ctx, counted)
		return next, true, err
	}
	return nil, false, nil
}

// failures counts the failures to read each space.
type failures map[string]int

// note counts an error, and returns it.
func (f failures) note(space string, err error) error {
	if err != nil {
		f[space]++
	}
	return err
}

func (p backfiller) describe(ctx context.Context, spaces []string) error {
	spaces = spaces[:min(len(spaces), maxIn)]
	var f findings
	if err := p.readSpaces(ctx, &f, spaces); err != nil {
		return err
	}
	var cursors []records.FollowCursor
	for _, space := range spaces {
		if _, missing := p.missing[space]; missing {
			continue
		}
		cursor := p.spaceCursor(space, backfillPoller)
		cursor.SetPosition(backfillPosition{Phase: listing, Since: p.since[space]})
		cursor.State = governance.SourceBackfilling
		p.explain(&cursor)
		cursors = append(cursors, cursor)
	}
	return p.journal.Commit(ctx, f.records, cursors...)
}

// backfillProposals reads the next page of a space's proposals, newest first. Equal times may fill several.
func (p backfiller) backfillProposals(ctx context.Context, space string) error {
	cursor, at := p.past(space)
	variables := map[string]any{"spaces": []string{space}}
	if at.Until > 0 {
		variables["until"] = at.Until
	}
	p.withheld.Store(0) // the answer says so again
	got, err := p.list(ctx, "proposals", "proposals", variables, at.Skip, proposalsPage)
	if err == nil && at.Until > 0 && len(got.rows) == 0 { // the last of a full page may be deleted, and not all
		var newest page
		newest, err = p.list(ctx, "proposals", "proposals", map[string]any{"spaces": []string{space}}, 0, 1)
		if err == nil && len(newest.rows)+newest.holes == 0 {
			err = fmt.Errorf("%s lists no proposal of %s any more", p.Host.Name(), space)
		}
	}
	if err != nil {
		return err
	}
	var f findings
	if got.holes > 0 {
		p.reject(&f, space, fmt.Sprintf("proposals until %d", at.Until), fmt.Errorf("%d proposals cannot be answered by the hub", got.holes))
	}
	found := map[string]proposalHead{}
	p.takeProposals(&f, got.rows, func(head proposalHead) error { return refuse(head.Space.ID != space) }, nil, found)
	oldest := at.Until
	for _, row := range slices.Backward(got.rows) {
		var last proposalHead
		if fetch.Decode(row, &last) == nil { // another one is rejected above
			oldest = int64(last.Created)
			break
		}
	}
	at.Listed += len(got.rows) + got.holes
	switch {
	case !got.full:
		at = at.in(counting)
		at.Withheld = p.withheld.Load()
	case at.Listed >= maxListed:
		at = at.in(counting)
		at.Cut = true
	case oldest > 0 && (at.Until == 0 || oldest < at.Until):
		at.Until, at.Skip = oldest, 0
	default:
		if at.Skip += proposalsPage; at.Skip > maxSkip {
			at.Until, at.Skip = at.Until-1, 0
		}
	}
	for _, head := range found {
		cursor.Total += min(uint64(head.Votes), maxWalked)
	}
	cursor.SetPosition(at)
	return p.commit(ctx, cursor, f)
}

// nextVotes returns the next proposal whose votes are to be read: an open one of any space, else one of the first space
// of which votes are missing after a reading page by page. It is nil after a page, and after the last of a space.
func (p backfiller) nextVotes(ctx context.Context, spaces []string) (*due, error) {
	now := p.Clock.Now()
	for id, i := range p.items {
		if now.Before(i.end) && slices.Contains(spaces, i.space) && i.Walked == 0 && !p.walked[id] {
			return &due{i.space, id, i.votes}, nil
		}
	}
	space := spaces[0]
	cursor, before := p.past(space)
	if !before.Each {
		return nil, p.failed.note(space, p.readSpaceVotes(ctx, cursor, before))
	}
	if p.queueSpace != space {
		if err := p.fillQueue(ctx, space); err != nil {
			return nil, err
		}
	}
	for len(p.queue) > 0 {
		next := p.queue[0]
		p.queue = p.queue[1:]
		if !p.walked[next.id] {
			return &next, nil
		}
	}
	cursor = p.spaceCursor(space, backfillPoller)
	cursor.SetPosition(before.in(done))
	cursor.State, cursor.Done, cursor.UpstreamAt = governance.SourceLive, cursor.Total, &now
	p.queueSpace = ""
	return nil, p.commit(ctx, cursor, findings{})
}

// readSpaceVotes reads the next page of the votes of a space, oldest first. Where the hub refuses that, or cannot
// answer all of a page, and where it saves nothing, the votes are read poll by poll.
func (p backfiller) readSpaceVotes(ctx context.Context, cursor records.FollowCursor, at backfillPosition) error {
	space, apart := cursor.SourceID, uint64(0)
	if p.pagedSpace != space {
		held, err := records.HeldProposals(ctx, p.journal.Warehouse, governance.Snapshot, []string{space}, time.Time{})
		if err != nil {
			return err
		}
		p.paged, p.pagedSpace = map[string]bool{}, space
		for _, h := range held {
			p.paged[h.ExternalID] = !h.Withdrawn
			if votes := h.StatedVotes; votes != nil && !h.Withdrawn && !p.walked[h.ExternalID] {
				apart += (*votes + maxFirst - 1) / maxFirst
			}
		}
	}
	each := at.in(counting)
	each.Each = true
	if at.Began == 0 {
		if apart <= cursor.Total/maxFirst+1 { // each poll by itself takes no more pages
			cursor.SetPosition(each)
			return p.commit(ctx, cursor, findings{})
		}
		at.Began, cursor.Done = p.Clock.Now().Unix(), 0
	}
	got, err := p.list(ctx, "space_votes", "votes", map[string]any{"spaces": []string{space}, "from": at.From}, at.Skip, maxFirst)
	if _, refused := errors.AsType[*refusedError](err); err != nil && !refused {
		return err
	}
	var f findings
	last, fresh := at.From, uint64(0)
	rows := slices.DeleteFunc(got.rows, func(row json.RawMessage) bool {
		var head voteHead
		if fetch.Decode(row, &head) != nil {
			return false
		}
		last = max(last, int64(head.Created))
		// The hub keeps votes on proposals that it does not show any more.
		unknown := head.Space.ID == space && !p.paged[head.Proposal.ID]
		if !unknown && (int64(head.Created) > at.From || at.Skip > 0) {
			fresh++
		}
		return unknown
	})
	p.takeVotes(&f, rows, func(voteHead) error { return nil })
	switch {
	case err != nil, got.holes > 0:
		at = each // as if nothing of them was read
	case !got.full:
		at.Each = true
	case last > at.From:
		at.From, at.Skip = last, 0
	default:
		at.Skip += maxFirst // beyond maxSkip all are holes
	}
	cursor.Done = min(cursor.Done+fresh, cursor.Total)
	cursor.SetPosition(at)
	return p.commit(ctx, cursor, f)
}

// fillQueue lists the proposals of a space whose votes were not read yet, newest first, and how many votes that
// makes. One that is long over without a vote has none to read.
func (p backfiller) fillQueue(ctx context.Context, space string) error {
	held, err := records.HeldProposals(ctx, p.journal.Warehouse, governance.Snapshot, []string{space}, time.Time{})
	if err != nil {
		return err
	}
	refs := warehouse.Values(held, func(h records.HeldProposal) record.RefHash { return h.Hash() })
	voters, err := records.HeldVoters(ctx, p.journal.Warehouse, refs)
	if err != nil {
		return err
	}
	cursor, at := p.past(space)
	p.queue, p.queueSpace = nil, space
	cursor.Done, cursor.Total = 0, 0
	for _, h := range slices.Backward(held) {
		votes := uint64(0)
		if h.StatedVotes != nil {
			votes = min(*h.StatedVotes, maxWalked)
		}
		if h.Withdrawn {
			continue
		}
		cursor.Total += votes
		i := p.items[h.ExternalID]
		if at.Began > 0 && votes > 0 && voters[h.Hash()] == votes && !p.walked[h.ExternalID] {
			p.walked[h.ExternalID] = true
			if i != nil {
				i.Walked, i.even, i.changed = at.Began, votes, true
			}
		}
		if p.walked[h.ExternalID] {
			cursor.Done += votes
			continue
		}
		if votes > 0 || i != nil {
			p.queue = append(p.queue, due{space, h.ExternalID, votes})
		}
	}
	if err = p.commit(ctx, cursor, findings{}); err != nil {
		return err
	}
	return p.saveNotes(ctx)
}
