package tally

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"pnyx/clock"
	"pnyx/follow"
	"pnyx/governance"
	"pnyx/warehouse/records"
)

// backfillPosition says when the last walk over all proposals ended, and whether all votes have been read once.
type backfillPosition struct {
	Swept time.Time `json:"swept"`
	Done  bool      `json:"done"`
}

// backfill reads a page of proposals, or of votes of a proposal, from the newest to the oldest.
func (o *organization) backfill(ctx context.Context) (bool, error) {
	const sweepAfter = 24 * time.Hour // the time between two walks over all proposals, whose states change without a trace
	if err := o.load(ctx); err != nil {
		return false, err
	}
	var at backfillPosition
	cursor := o.cursor(pollerBackfill, &at)
	more := true
	switch {
	case o.walk == nil && clock.Elapsed(o.Clock.Now(), at.Swept) >= sweepAfter:
		if err := o.sweep(ctx, &at); err != nil {
			return false, err
		}
	case o.walk == nil:
		if o.walk = o.nextWalk(); o.walk != nil {
			return true, nil
		}
		state, _ := o.readState()
		if more = false; at.Done && cursor.State == state {
			return false, nil
		}
		at.Done = true
	default:
		done, withdrawn, err := o.step(ctx, o.walk)
		if err != nil {
			return false, o.startOver(err)
		}
		cursor.Withdrawn += withdrawn
		switch {
		case done && (o.walk.unread || o.skips(o.walk)): // once more, later
			o.refused[o.walk.proposal], o.walk = refusal{o.Clock.Now(), new(len(o.walk.seen))}, nil
		case done:
			if err := o.walked(ctx, o.walk); err != nil {
				return false, err
			}
			o.walk = nil
		}
	}
	o.refusals = 0
	o.progress(&cursor, at)
	cursor.SetPosition(at)
	return more, o.journal.Commit(ctx, nil, cursor)
}

func (o *organization) sweep(ctx context.Context, at *backfillPosition) error {
	if o.pages >= maxPages {
		o.after, o.pages = "", 0
		return o.endless("proposals", o.source.ID, maxPages)
	}
	got, err := o.page(ctx, "proposals", map[string]any{"organizationId": o.id}, o.after)
	if err != nil {
		return o.startOver(err)
	}
	if err := o.keep(ctx, o.take(got.nodes...)); err != nil {
		return err
	}
	o.pages++
	if o.after = got.after; o.after == "" {
		at.Swept, o.pages = o.Clock.Now(), 0
	}
	return nil
}

// startOver forgets the cursors of the walks after the API has refused them several times: they may be unknown by now.
func (o *organization) startOver(err error) error {
	const maxRefusals = 3 // how often a page is asked for before its cursor counts as unknown
	isEndless := errors.Is(err, follow.ErrEndless)
	if !isEndless && !errors.As(err, new(*queryError)) {
		return err
	}
	if o.refusals++; isEndless || o.refusals == maxRefusals {
		if o.walk != nil { // another proposal's may go on
			o.refused[o.walk.proposal] = refusal{at: o.Clock.Now()}
		}
		o.after, o.pages, o.walk, o.refusals = "", 0, nil, 0
	}
	return err
}

// readState is state, and behind with the reason while there are votes that could not be read.
func (o *organization) readState() (state governance.SourceState, reason string) {
	if len(o.refused) == 0 {
		return o.state(), ""
	}
	newest := slices.MaxFunc(slices.Collect(maps.Keys(o.refused)), compareIDs)
	return governance.SourceBehind, "votes on proposal " + newest + " could not be read"
}

// skips reports whether a walk over the votes of a closed proposal saw fewer than are stated: its pages may have
// skipped some. Another one that sees as many says that there are no more.
func (o *organization) skips(w *walk) bool {
	before := o.refused[w.proposal].seen
	return w.closed && uint64(len(w.seen)) < w.stated && (before == nil || *before != len(w.seen))
}

func (o *organization) walked(ctx context.Context, w *walk) error {
	delete(o.refused, w.proposal)
	return o.note(ctx, map[string]func(*note){w.proposal: func(n *note) {
		n.Walked, n.WalkedAt, n.Closed, n.Recount = &w.stated, new(o.Clock.Now()), w.closed, false
		if compareIDs(w.first, n.Newest) > 0 {
			n.Newest, n.Read = w.first, w.stated
		}
	}})
}

// progress sets the state of the poller and how many proposals have their votes read.
func (o *organization) progress(cursor *records.FollowCursor, at backfillPosition) {
	cursor.State = governance.SourceBackfilling
	if at.Done {
		cursor.State, cursor.Error = o.readState()
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	cursor.Done, cursor.Total = 0, 0
	for _, n := range o.notes {
		if n.Draft {
			continue
		}
		cursor.Total++
		if n.Walked != nil || n.isVoting() {
			cursor.Done++
		}
	}
}
