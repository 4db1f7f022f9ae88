package hub

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"pnyx/clock"
	"pnyx/fetch"
	"pnyx/governance"
	"pnyx/warehouse/records"
)

type sweepPosition struct {
	// Swept is when the space was last swept, in seconds.
	Swept int64 `json:"swept"`
	// Rescored are the proposals of which the last sweep found other scores. Their votes are read once more after
	// the next one: a process may end before it has read them.
	Rescored []string `json:"rescored,omitempty"`
}

// sweeper is the poller that finds what the others missed.
type sweeper struct{ *reader }

// sweep compares the list of all proposals of the space swept longest ago, if that is a day, with what is held.
func (p sweeper) sweep(ctx context.Context) (more bool, err error) {
	p.turn.Lock()
	defer p.turn.Unlock()
	if err := p.load(ctx); err != nil {
		return false, err
	}
	space, oldest, now := "", int64(0), p.Clock.Now()
	for _, candidate := range p.Spaces {
		var position sweepPosition
		p.journal.At(sourceRef(candidate), sweepPoller, &position)
		_, missing := p.missing[candidate]
		isDue := p.backfilled(candidate) && !missing && clock.Elapsed(now, time.Unix(position.Swept, 0)) >= sweepInterval
		if isDue && (space == "" || cmp.Or(p.failed[candidate]-p.failed[space], cmp.Compare(position.Swept, oldest)) < 0) {
			space, oldest = candidate, position.Swept
		}
	}
	if space == "" {
		return false, nil
	}
	walks, rescored, err := p.sweepSpace(ctx, space)
	if err != nil {
		return false, p.failed.note(space, err)
	}
	p.enqueue(sweepPoller, walks)
	cursor := p.spaceCursor(space, sweepPoller)
	cursor.SetPosition(sweepPosition{now.Unix(), rescored})
	cursor.UpstreamAt = &now
	return false, p.commit(ctx, cursor, findings{})
}

// sweepSpace reads the proposals of a space that differ from those held, and notes those that are gone. It returns
// those whose votes are to be read, and those that have other scores.
func (p sweeper) sweepSpace(ctx context.Context, space string) (walks []due, rescored []string, err error) {
	const arrivalTime = 10 * time.Minute // how long the log has to state a new proposal before a sweep that finds it counts it as missed
	heads, held, _, err := p.findDeleted(ctx, space)
	if err != nil {
		return nil, nil, err
	}
	backfill, past := p.past(space)
	origins := map[string]string{}
	var ids, changed []string
	var before sweepPosition
	cursor := p.journal.At(sourceRef(space), sweepPoller, &before)
	late := p.Clock.Now().Add(-arrivalTime).Unix()
	for id, head := range heads {
		ids = append(ids, id)
		if _, known := held[id]; !known && int64(head.Created) < late && int64(head.Created) >= past.Withheld {
			p.missed++
		}
		if h, known := held[id]; !known || differs(h, head) {
			changed, origins[id] = append(changed, id), h.Origin
			if known && !sameScores(h, head) {
				rescored = append(rescored, id)
			}
		}
	}
	slices.Sort(ids)
	slices.Sort(changed)
	var f findings
	if _, err := p.readProposals(ctx, &f, changed, origins); err != nil {
		p.loaded = false
		return nil, nil, err
	}
	again := slices.Concat(before.Rescored, rescored)
	cursor.SetPosition(sweepPosition{before.Swept, again})
	if past.Withheld > 0 && p.withheld.Load() == 0 { // the key has access since
		past.Withheld = 0
		cursor = backfill
		cursor.SetPosition(past)
	}
	if err := p.commit(ctx, cursor, f); err != nil {
		return nil, nil, err
	}
	voters, err := records.HeldVoters(ctx, p.journal.Warehouse, hashes(ids))
	if err != nil {
		return nil, nil, err
	}
	for _, id := range ids {
		votes := uint64(heads[id].Votes)
		isPutOff := strings.HasPrefix(p.holes[id].text, notAllRead) // by this process, or one that ended before the walk
		if i := p.items[id]; i != nil && i.watched(p.Clock.Now()) && !isPutOff {
			continue // the watch compares it each minute
		}
		if voters[proposalRef(id).Hash()]+p.lack[id] != votes || slices.Contains(again, id) || isPutOff {
			walks = append(walks, due{space, id, votes})
		}
	}
	return walks, rescored, p.saveNotes(ctx)
}

// differs reports whether a proposal states something else than what is held.
func differs(h records.HeldProposal, head proposalHead) bool {
	seconds := func(at *governance.Timestamp) fetch.Seconds {
		if at == nil {
			return 0
		}
		return fetch.Seconds(*at / 1000)
	}
	return h.Withdrawn || !sameScores(h, head) || h.Flagged != head.Flagged || h.StatedVotes == nil || *h.StatedVotes != uint64(head.Votes) ||
		seconds(h.UpdatedAt) != head.Updated || seconds(h.StartAt) != head.Start || seconds(h.EndAt) != head.End
}

func sameScores(h records.HeldProposal, head proposalHead) bool {
	total, _, err := governance.ParsePower(head.ScoresTotal.String())
	return h.ScoresState == strings.ToLower(head.ScoresState) && (err != nil || h.StatedTotal != nil && h.StatedTotal.Equal(total))
}
