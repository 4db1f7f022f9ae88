package hub

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"

	"pnyx/fetch"
)

// closer is the poller of the votes whose scores are final.
type closer struct{ *reader }

// walkClosed reads all votes of the proposals whose scores are final, and again an hour and
// a day later: powers change in place, and votes of the last minute reach the log late.
// Encrypted votes are read until none is left. It also makes the walks that other pollers
// ask for, and withdraws what was deleted. Each run reads one page.
func (p closer) walkClosed(ctx context.Context) (more bool, err error) {
	if err := p.nextWalk(ctx); p.walking == nil {
		return false, err
	} else if err != nil {
		p.Logger.LogAttrs(ctx, slog.LevelWarn, "deleted proposals or spaces not looked for, votes are read all the same", slog.String("upstream", p.ID()), slog.Any("error", err))
	}
	more, err = p.walking.step(ctx)
	p.turn.Lock()
	defer p.turn.Unlock()
	if p.putOff(p.walking, err) || err == nil && !more {
		p.walking = nil
	}
	return err == nil, err
}

// putOff puts a walk that failed after all others, which it would hold up. That the hub allows no
// more requests says nothing about the walk.
func (p *reader) putOff(w *walk, err error) bool {
	if _, limited := errors.AsType[*fetch.LimitedError](err); err == nil || limited {
		return false
	}
	p.walks = append(slices.DeleteFunc(p.walks, func(other *walk) bool { return other.id == w.id }), w)
	return true
}

// nextWalk sets walking to the next walk, if none is in progress. Between two walks it
// withdraws what was deleted. An error there holds up no walk.
func (p closer) nextWalk(ctx context.Context) error {
	p.turn.Lock()
	defer p.turn.Unlock()
	if err := p.load(ctx); err != nil || p.walking != nil {
		return err
	}
	failed := p.withdrawDeleted(ctx)
	if !p.loaded { // nothing could be written
		return failed
	}
	var closed []due
	for id, i := range p.items {
		if i.walkDue(p.Clock.Now()) && i.Missing == 0 && !p.backfillDue(id, i) {
			closed = append(closed, due{i.space, id, i.votes})
		}
	}
	slices.SortFunc(closed, func(a, b due) int { return strings.Compare(a.id, b.id) })
	p.enqueue(closePoller, closed)
	failed = errors.Join(failed, p.lookForSpaces(ctx), p.readSpacesAgain(ctx))
	if len(p.walks) > 0 {
		p.walking, p.walks = p.walks[0], p.walks[1:]
	}
	return failed
}
