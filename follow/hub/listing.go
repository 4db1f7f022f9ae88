package hub

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"pnyx/clock"
	"pnyx/fetch"
	"pnyx/follow"
	"pnyx/governance"
	"pnyx/warehouse/records"
)

const (
	// deletedPause is between the two looks at a proposal before it counts as deleted.
	deletedPause = time.Minute
	// maxListed bounds the proposals that are listed of a space. The largest have some thousands.
	maxListed = 100_000
)

// listing reads the heads of all proposals of a space. It is trusted to be whole if every page could be answered, and
// it is not empty or the space states no proposals.
func (p *reader) listing(ctx context.Context, space string) (heads map[string]proposalHead, trusted bool, err error) {
	heads, trusted = map[string]proposalHead{}, true
	p.withheld.Store(0) // the first page says so again
	from, skip, rows := int64(0), 0, 0
	for more := true; more; {
		variables := map[string]any{"spaces": []string{space}, "from": from}
		got, err := p.list(ctx, "listing", "proposals", variables, skip, maxFirst)
		if refused, is := errors.AsType[*refusedError](err); is {
			p.Logger.WarnContext(ctx, "proposals not listed", slog.String("upstream", p.ID()), slog.String("space", space), slog.Any("error", refused))
			return heads, false, nil
		}
		if err != nil {
			return nil, false, err
		}
		if rows += len(got.rows); rows >= maxListed {
			return nil, false, fmt.Errorf("%w: %s lists more than %d proposals of %s", follow.ErrEndless, p.Host.Name(), maxListed, space)
		}
		last := from
		for _, row := range got.rows {
			var head proposalHead
			if fetch.Decode(row, &head) != nil || head.Space.ID != space {
				trusted = false
				continue
			}
			heads[head.ID], last = head, max(last, int64(head.Created))
		}
		trusted = trusted && got.holes == 0
		more = got.full
		if skip += maxFirst; last > from {
			from, skip = last, 0
		}
		if skip > maxSkip { // more in one second than the hub shows
			from, skip, trusted, more = from+1, 0, false, more && from > 0
		}
	}
	if len(heads) > 0 {
		return heads, trusted, nil
	}
	found, err := p.findSpace(ctx, space)
	return heads, trusted && err == nil && found != nil && found.ProposalsCount == 0, err
}

// takeDeletions withdraws at once what messages state to be deleted. They do not name the proposal: it is what a
// whole listing of the space lacks. Where that is more than was deleted, a second look decides.
func (p messageLog) takeDeletions(ctx context.Context, space string, most int) error {
	_, _, gone, err := p.findDeleted(ctx, space)
	if err != nil || len(gone) > most {
		return err
	}
	return p.withdrawProposals(ctx, space, gone)
}

// findDeleted notes the held proposals of a space that are not listed, and returns the listed, held, and gone.
func (p *reader) findDeleted(
	ctx context.Context, space string,
) (_ map[string]proposalHead, _ map[string]records.HeldProposal, gone []string, err error) {
	heads, trusted, err := p.listing(ctx, space)
	if err != nil {
		return nil, nil, nil, err
	}
	list, err := records.HeldProposals(ctx, p.journal.Warehouse, governance.Snapshot, []string{space}, time.Time{})
	if err != nil {
		return nil, nil, nil, err
	}
	held := map[string]records.HeldProposal{}
	for _, h := range list {
		held[h.ExternalID] = h
		if _, listed := heads[h.ExternalID]; trusted && !listed && !h.Withdrawn {
			if p.items[h.ExternalID] == nil {
				p.adopt(h, nil)
			}
			if p.miss(h.ExternalID) {
				gone = append(gone, h.ExternalID)
			}
		}
	}
	return heads, held, gone, p.saveNotes(ctx)
}

// miss notes that a proposal was not found, unless the hub withholds it.
func (p *reader) miss(id string) bool {
	i := p.items[id]
	if p.isWithheld(i.created) {
		return false
	}
	if i.Missing == 0 {
		i.Missing, i.changed = p.Clock.Now().Unix(), true
	}
	return true
}

// withdrawDeleted withdraws the proposals that were missing a minute ago and that a whole listing of their space
// lacks now. Without one, they wait until they are missed again.
func (p *reader) withdrawDeleted(ctx context.Context) error {
	now := p.Clock.Now()
	bySpace := map[string][]string{}
	for id, i := range p.items {
		if i.Missing > 0 && clock.Elapsed(now, time.Unix(i.Missing, 0)) >= deletedPause {
			bySpace[i.space] = append(bySpace[i.space], id)
		}
	}
	var failed error
	for space, ids := range bySpace {
		if _, missing := p.missing[space]; missing {
			continue // withdrawn with its space
		}
		heads, trusted, err := p.listing(ctx, space)
		if failed = errors.Join(failed, err); err != nil {
			continue
		}
		var gone []string
		for _, id := range ids {
			if _, listed := heads[id]; listed || !trusted || p.isWithheld(p.items[id].created) {
				p.items[id].Missing, p.items[id].changed = 0, true
			} else {
				gone = append(gone, id)
			}
		}
		if err := p.withdrawProposals(ctx, space, gone); err != nil {
			return err
		}
	}
	return failed
}
