package chain

import (
	"cmp"
	"context"
	"log/slog"
	"slices"

	"pnyx/follow"
	"pnyx/governance"
	"pnyx/warehouse"
	"pnyx/warehouse/records"
)

// past is the position of a backfill: the blocks to read.
type past struct {
	// First is the block of the contract's creation; nil until it was searched for.
	First *uint64 `json:"first,omitempty"`
	// Last is the final block when the Governor was added, last where it was removed in between.
	Last uint64 `json:"last"`
	// Spaces are the spaces of a registry that are read.
	Spaces []string `json:"spaces,omitempty"`
}

type backfiller struct{ *Chain }

// beginBackfills gives each contract that has none yet a backfill up to the final block. It prolongs one of a
// contract that was not read for a while, and begins anew one of a registry of which a space is new.
func (c backfiller) beginBackfills(ctx context.Context, final block, since map[string]uint64) error {
	var cursors []records.FollowCursor
	for _, g := range c.governors {
		cursor := c.backfillCursor(g)
		if cursor.Position != "" {
			var p past
			if err := cursor.ReadPosition(&p); err != nil {
				return err
			}
			last, spaces := max(p.Last, since[g.address]), g.spaces()
			if slices.ContainsFunc(spaces, func(space string) bool { return !slices.Contains(p.Spaces, space) }) {
				last, cursor.Covered = final.Number, []records.Interval{} // of that space nothing was read
			}
			if last > p.Last || !slices.Equal(spaces, p.Spaces) {
				cursor.SetPosition(past{p.First, last, spaces})
				cursors = append(cursors, progress(g, cursor))
			}
			continue
		}
		first := g.FirstBlock
		if late, err := c.isLate(ctx, g); err != nil {
			return err
		} else if late {
			c.Logger.LogAttrs(ctx, slog.LevelWarn, "firstBlock is too late, the contract was there before",
				slog.String("governor", g.source.ID), slog.Uint64("first_block", *first))
			first = nil
		}
		cursor.State = governance.SourceBackfilling
		if g.delegating != nil {
			cursor.State = governance.SourceLive // as what it shares the cursor's source with
		}
		cursor.SetPosition(past{First: first, Last: final.Number, Spaces: g.spaces()})
		cursors = append(cursors, cursor)
	}
	return c.journal.Commit(ctx, nil, cursors...)
}

// backfilled returns the lowest block up to which a backfill of the chain reads, at most last.
func (c backfiller) backfilled(last uint64) (uint64, error) {
	for _, g := range c.governors {
		if cursor := c.backfillCursor(g); cursor.Position != "" {
			var p past
			if err := cursor.ReadPosition(&p); err != nil {
				return 0, err
			}
			last = min(last, p.Last)
		}
	}
	return last, nil
}

// gap is the newest range of blocks that a backfill has not read.
type gap struct {
	governor    *governor
	first, last uint64
}

// pollBackfill reads the newest range that a Governor lacks, for all Governors that lack it.
func (c backfiller) pollBackfill(ctx context.Context) (more bool, err error) {
	var gaps []gap
	for _, g := range c.governors {
		p, err := c.past(ctx, g)
		if err != nil {
			return false, err
		}
		holes := follow.Holes(c.backfillCursor(g).Covered, records.Interval{First: *p.First, Last: p.Last})
		if len(holes) > 0 {
			gaps = append(gaps, gap{g, holes[len(holes)-1].First, holes[len(holes)-1].Last})
		}
	}
	if len(gaps) == 0 {
		return false, c.noteLacking(ctx)
	}
	newest := slices.MaxFunc(gaps, func(a, b gap) int { return cmp.Or(cmp.Compare(a.last, b.last), cmp.Compare(b.first, a.first)) })
	gaps = slices.DeleteFunc(gaps, func(g gap) bool { return g.last != newest.last })
	for _, g := range gaps {
		newest.first = max(newest.first, g.first)
	}
	governors := warehouse.Values(gaps, func(g gap) *governor { return g.governor })
	return true, c.readPast(ctx, governors, newest.first, newest.last)
}

// past returns the blocks to read for a Governor. The first time it searches for the contract's creation.
func (c backfiller) past(ctx context.Context, g *governor) (past, error) {
	cursor := c.backfillCursor(g)
	var p past
	if err := cursor.ReadPosition(&p); err != nil {
		return p, err
	}
	if p.First != nil {
		return p, nil
	}
	first, err := c.creation(ctx, g, p.Last)
	if err != nil {
		return p, err
	}
	first = min(first, p.Last)
	p.First = &first
	if g.delegating == nil {
		cursor.Total = p.Last - first + 1
	}
	cursor.SetPosition(p)
	return p, c.journal.Commit(ctx, nil, cursor)
}

// isLate reports whether a contract had code before its configured first block, where an endpoint can say so.
func (c backfiller) isLate(ctx context.Context, g *governor) (late bool, err error) {
	if g.FirstBlock == nil || *g.FirstBlock == 0 {
		return false, nil
	}
	err = c.client.withState(ctx, func(e *endpoint) error {
		code, err := c.client.one(ctx, e, "eth_getCode", g.address, hexOf(*g.FirstBlock-1))
		late = err == nil && len(code) > len(`"0x"`)
		return err
	})
	return late, err
}

// creation searches for the block of a contract's creation; 0 where no endpoint keeps the state of old blocks.
func (c backfiller) creation(ctx context.Context, g *governor, last uint64) (first uint64, err error) {
	err = c.client.withState(ctx, func(e *endpoint) error {
		low, high := uint64(0), last // no code at low, code at high
		for low < high {
			middle := low + (high-low)/2
			result, err := c.client.one(ctx, e, "eth_getCode", g.address, hexOf(middle))
			if err != nil {
				return err
			}
			if len(result) > len(`"0x"`) {
				high = middle
			} else {
				low = middle + 1
			}
		}
		first = low
		return nil
	})
	return first, err
}

// readPast reads the end of a range, as much as the endpoint allows, until another look has nothing new.
func (c backfiller) readPast(ctx context.Context, governors []*governor, first, last uint64) error {
	f := filterOf(governors)
	var got blocks
	if err := c.client.each(ctx, 0, func(e *endpoint) (err error) {
		got, err = c.client.read(ctx, e, f, first, last, true, false)
		return err
	}); err != nil {
		return err
	}
	c.refuseForeign(got)
	first = got.first
	gaps := uint64(0)
	for look := 1; look < maxLooks; look++ {
		added, err := c.readAgain(ctx, f, look, first, last, len(got.logs), &got)
		if err != nil {
			return err
		}
		if gaps += added; added == 0 {
			break
		}
	}
	c.metrics.span.Set(float64(last - first + 1))
	c.metrics.gaps.Add(float64(gaps))
	cursors := make([]records.FollowCursor, len(governors))
	for i, g := range governors {
		cursor := c.backfillCursor(g)
		cursor.Covered = follow.Cover(cursor.Covered, records.Interval{First: first, Last: last})
		cursor.Gaps += gaps
		cursor.UpstreamAt = new(got.end.at())
		cursors[i] = progress(g, cursor)
	}
	c.unsure.Store(true) // a past that is read to its end
	return c.write(ctx, change{logs: got.logs, final: c.at().final.Number}, cursors...)
}

// readAgain reads a range once more that had some logs, and returns how much it adds. An endpoint may cut answers
// at a number of logs without a word: the range is read in halves, and so is a half with as many logs.
func (c backfiller) readAgain(
	ctx context.Context, f filter, look int, first, last uint64, logs int, got *blocks,
) (added uint64, err error) {
	const minCut = 10 // the least number of logs at which an endpoint may cut its answers
	step := last - first + 1
	if logs >= minCut {
		step = (step + 1) / 2
	}
	for at := first; at <= last; {
		var again blocks
		if err := c.client.each(ctx, look, func(e *endpoint) (err error) {
			again, err = c.client.read(ctx, e, f, at, min(at+step-1, last), false, false)
			return err
		}); err != nil {
			return added, err
		}
		added += got.add(again)
		at = again.last + 1
		if again.first == again.last || len(again.logs) < max(logs, minCut) {
			continue
		}
		more, err := c.readAgain(ctx, f, look, again.first, again.last, len(again.logs), got)
		if added += more; err != nil {
			return added, err
		}
	}
	return added, nil
}

// add adds the logs of another look at some of the blocks, and returns how many were new.
func (b *blocks) add(again blocks) (added uint64) {
	known := map[place]bool{}
	for _, l := range b.logs {
		known[place{l.BlockHash, l.index()}] = true
	}
	for _, l := range again.logs {
		if !known[place{l.BlockHash, l.index()}] {
			b.logs = append(b.logs, l)
			added++
		}
	}
	return added
}

// progress says in the cursor of a Governor's backfill what it has read and will read.
func progress(g *governor, cursor records.FollowCursor) records.FollowCursor {
	var p past
	if err := cursor.ReadPosition(&p); err != nil || p.First == nil || g.delegating != nil {
		return cursor
	}
	cursor.Done, cursor.Total = 0, p.Last-*p.First+1
	for _, interval := range cursor.Covered {
		cursor.Done += interval.Last - interval.First + 1
	}
	cursor.State = governance.SourceBackfilling
	if cursor.Done >= cursor.Total {
		cursor.State = governance.SourceLive
	}
	return cursor
}
