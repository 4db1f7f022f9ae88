package hub

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"pnyx/governance"
	"pnyx/warehouse"
)

// proposalsPage is the number of proposals, with their texts, in one page of a backfill.
const proposalsPage = 100

// The phases of a space's backfill.
const (
	describing = ""
	listing    = "proposals"
	counting   = "votes"
	done       = "done"
)

// backfillPosition is the position of a space's backfill.
type backfillPosition struct {
	// Phase is what is being read: the space, its proposals, or its votes.
	Phase string `json:"phase"`
	// Until and Skip are the time down to which proposals were read, and how many of that
	// very second.
	Until int64 `json:"until,omitempty"`
	Skip  int   `json:"skip,omitempty"`
}

// backfilled reports whether the past of a space is read.
func (p *poller) backfilled(space string) (bool, error) {
	var at backfillPosition
	err := p.spaceCursor(space, backfillLane).ReadPosition(&at)
	return at.Phase == done, err
}

// backfillDue reports whether the backfill will read the votes of an item.
func (p *poller) backfillDue(id string, i *item) bool {
	backfilled, err := p.backfilled(i.space)
	return err == nil && !backfilled && i.Walked == 0 && !p.walked[id]
}

// backfill reads the past: the proposals of all spaces, then the votes, those on open
// proposals first. Each run reads one page.
func (p *poller) backfill(ctx context.Context) (more bool, err error) {
	if p.filling == nil {
		next, more, err := p.backfillStep(ctx)
		if err != nil || next == nil {
			return more && err == nil, err
		}
		p.filling = p.newWalk(backfillLane, *next)
	}
	w := p.filling
	if more, err := w.step(ctx); more || err != nil {
		return err == nil, err
	}
	p.filling = nil
	p.turn.Lock()
	defer p.turn.Unlock()
	cursor := p.spaceCursor(w.space, backfillLane)
	cursor.Done = min(cursor.Done+w.stated, cursor.Total)
	_, err = p.commit(ctx, cursor, findings{})
	return true, err
}

// backfillStep reads a space or a page of proposals, or returns the proposal whose votes
// are next. It returns false when everything is read.
func (p *poller) backfillStep(ctx context.Context) (next *due, more bool, err error) {
	p.turn.Lock()
	defer p.turn.Unlock()
	if err := p.startLog(ctx); err != nil {
		return nil, false, err
	}
	byPhase := map[string][]string{}
	for _, space := range p.Spaces {
		var at backfillPosition
		if err := p.spaceCursor(space, backfillLane).ReadPosition(&at); err != nil {
			return nil, false, err
		}
		byPhase[at.Phase] = append(byPhase[at.Phase], space)
	}
	switch {
	case len(byPhase[describing]) > 0:
		return nil, true, p.describe(ctx, byPhase[describing])
	case len(byPhase[listing]) > 0:
		return nil, true, p.backfillProposals(ctx, byPhase[listing][0])
	case len(byPhase[counting]) > 0:
		next, err := p.nextVotes(ctx, byPhase[counting])
		return next, true, err
	}
	return nil, false, nil
}

// describe reads what the spaces are.
func (p *poller) describe(ctx context.Context, spaces []string) error {
	spaces = spaces[:min(len(spaces), maxIn)]
	var f findings
	if err := p.readSpaces(ctx, &f, spaces); err != nil {
		return err
	}
	cursors := make([]warehouse.FollowCursor, len(spaces))
	for i, space := range spaces {
		cursors[i] = p.spaceCursor(space, backfillLane)
		cursors[i].SetPosition(backfillPosition{Phase: listing})
		cursors[i].State = governance.SourceBackfilling
		p.explain(&cursors[i])
	}
	_, err := p.journal.Commit(ctx, f.records, cursors...)
	return err
}

// backfillProposals reads the next page of a space's proposals, newest first. Proposals of
// equal time may fill several pages.
func (p *poller) backfillProposals(ctx context.Context, space string) error {
	cursor := p.spaceCursor(space, backfillLane)
	var at backfillPosition
	if err := cursor.ReadPosition(&at); err != nil {
		return err
	}
	variables := map[string]any{"spaces": []string{space}}
	if at.Until > 0 {
		variables["until"] = at.Until
	}
	got, err := p.list(ctx, "proposals", "proposals", variables, at.Skip, proposalsPage)
	if err != nil {
		return err
	}
	var f findings
	if got.holes > 0 {
		hole := fmt.Errorf("%d proposals cannot be answered by the hub", got.holes)
		if err := p.reject(ctx, &f, space, fmt.Sprintf("proposals until %d", at.Until), hole); err != nil {
			return err
		}
	}
	found := map[string]proposalHead{}
	if err := p.takeProposals(ctx, &f, got.rows, nil, found); err != nil {
		p.loaded = false
		return err
	}
	oldest := at.Until
	if len(got.rows) > 0 {
		var last proposalHead
		if err := json.Unmarshal(got.rows[len(got.rows)-1], &last); err != nil {
			return fmt.Errorf("list the proposals of %s: %w", space, err)
		}
		oldest = last.Created
	}
	switch {
	case !got.full:
		at = backfillPosition{Phase: counting}
	case oldest != at.Until:
		at.Until, at.Skip = oldest, 0
	default:
		if at.Skip += proposalsPage; at.Skip > maxSkip {
			at.Until, at.Skip = at.Until-1, 0
		}
	}
	for _, head := range found {
		cursor.Total += head.Votes
	}
	cursor.SetPosition(at)
	_, err = p.commit(ctx, cursor, f)
	return err
}

// nextVotes returns the next proposal whose votes are to be read: an open one of any
// space, else the newest of the first space. It returns nil after the last of a space.
func (p *poller) nextVotes(ctx context.Context, spaces []string) (*due, error) {
	now := p.Clock.Now()
	for id, i := range p.items {
		if now.Before(i.end) && slices.Contains(spaces, i.space) && i.Walked == 0 && !p.walked[id] {
			return &due{i.space, id, i.votes}, nil
		}
	}
	space := spaces[0]
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
	cursor := p.spaceCursor(space, backfillLane)
	cursor.SetPosition(backfillPosition{Phase: done})
	cursor.State, cursor.Done, cursor.UpstreamAt = governance.SourceLive, cursor.Total, &now
	p.queueSpace = ""
	_, err := p.commit(ctx, cursor, findings{})
	return nil, err
}

// fillQueue lists the proposals of a space whose votes were not read yet, newest first,
// and how many votes that makes. One that is long over without a vote has none to read.
func (p *poller) fillQueue(ctx context.Context, space string) error {
	held, err := p.journal.Warehouse.HeldProposals(ctx, governance.Snapshot, []string{space}, time.Time{})
	if err != nil {
		return err
	}
	cursor := p.spaceCursor(space, backfillLane)
	p.queue, p.queueSpace = nil, space
	cursor.Done, cursor.Total = 0, 0
	for _, h := range slices.Backward(held) {
		votes := uint64(0)
		if h.StatedVotes != nil {
			votes = *h.StatedVotes
		}
		if h.Withdrawn {
			continue
		}
		cursor.Total += votes
		if p.walked[h.ExternalID] {
			cursor.Done += votes
			continue
		}
		if votes > 0 || p.items[h.ExternalID] != nil {
			p.queue = append(p.queue, due{space, h.ExternalID, votes})
		}
	}
	_, err = p.commit(ctx, cursor, findings{})
	return err
}
