package chain

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"

	"pnyx/follow"
	"pnyx/warehouse/records"
)

// maxLooks bounds how often blocks are read until an answer has nothing new.
const maxLooks = 8

// pollFinal reads blocks that became final once more, mends what is held, and moves the final block by a range a
// call.
func (c *Chain) pollFinal(ctx context.Context) (more bool, err error) {
	at := c.at()
	var final header
	if err := c.client.each(ctx, 1, func(e *endpoint) error {
		if final, err = c.finalHeader(ctx, e); err != nil {
			return err
		}
		again, err := c.client.headers(ctx, e, []uint64{at.final.Number})
		if err == nil && again[at.final.Number].Hash != at.final.Hash {
			err = fmt.Errorf("block %d was final and is replaced: %w; check the endpoints", at.final.Number, follow.ErrStopped)
		}
		return err
	}); err != nil {
		return false, ignoreBehind(err)
	}
	if final.number() <= at.final.Number || final.number() > at.tip.Number {
		return false, nil
	}
	cursor := c.cursor(pollerFinal)
	var got blocks
	last := final.number()
	for look := range maxLooks {
		before := cursor.Gaps
		if err := c.client.each(ctx, look+1, func(e *endpoint) error {
			got, err = c.lookAgain(ctx, e, at.final.Number+1, last, at.final.Number, &cursor)
			return err
		}); err != nil {
			return false, ignoreBehind(err)
		}
		if last = got.last; cursor.Gaps == before {
			break
		}
	}
	return last < final.number(), c.finalize(ctx, got.end, cursor)
}

// ignoreBehind drops the error of endpoints that lack blocks for now.
func ignoreBehind(err error) error {
	if errors.Is(err, errBehind) || errors.Is(err, errReplaced) {
		return nil
	}
	return err
}

// lookAgain reads blocks once more, from the first up to the last or fewer, and mends what is held of them. final
// is the block up to which proposals are not provisional.
func (c *Chain) lookAgain(
	ctx context.Context, e *endpoint, first, last, final uint64, cursor *records.FollowCursor,
) (blocks, error) {
	got, err := c.client.read(ctx, e, filterOf(c.governors), first, last, false, true)
	if err != nil {
		return got, err
	}
	c.refuseForeign(got)
	held, err := records.ChainLogs(ctx, c.journal.Warehouse, c.ChainID, got.first, got.last)
	if err != nil {
		return got, err
	}
	stale, err := c.stale(ctx, e, got, held)
	if err != nil {
		return got, err
	}
	known := map[place]bool{}
	for _, l := range held {
		known[placeOf(l)] = !l.Withdrawn
	}
	missed := slices.DeleteFunc(slices.Clone(got.logs), func(l chainLog) bool {
		return known[place{l.BlockHash, l.index()}] || !c.isKept(l)
	})
	if gaps := uint64(len(missed) + len(stale)); gaps > 0 {
		c.Logger.LogAttrs(ctx, slog.LevelWarn, "the second look at blocks differs", slog.Uint64("chain", c.ChainID),
			slog.Uint64("first", got.first), slog.Uint64("last", got.last), slog.Uint64("logs", gaps))
		c.metrics.gaps.Add(float64(gaps))
		cursor.Gaps += gaps
		cursor.Withdrawn += uint64(len(stale))
	}
	return got, c.write(ctx, change{logs: missed, again: got.logs, stale: stale, withdrawn: held, also: touched(held), final: final})
}

// finalize moves the final block: proposals without a log above it are no longer provisional.
func (c *Chain) finalize(ctx context.Context, to header, cursor records.FollowCursor) error {
	moved := c.moved(pollerFinal, to)
	moved.SetPosition(finalPosition{to.block(), c.at().since})
	moved.Gaps, moved.Withdrawn = cursor.Gaps, cursor.Withdrawn
	var settled []records.ChainLogKey
	c.mu.Lock()
	for key, last := range c.position.recent {
		if last <= to.number() {
			settled = append(settled, key)
		}
	}
	c.mu.Unlock()
	if err := c.write(ctx, change{also: settled, final: to.number()}, moved); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, key := range settled {
		if c.position.recent[key] <= to.number() {
			delete(c.position.recent, key)
		}
	}
	c.position.final = to.block()
	c.position.held = slices.DeleteFunc(c.position.held, func(b block) bool { return b.Number <= to.number() })
	c.position.held = slices.Insert(c.position.held, 0, c.position.final)
	return nil
}
