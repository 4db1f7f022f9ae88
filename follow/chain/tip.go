package chain

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"pnyx/follow"
	"pnyx/governance"
	"pnyx/warehouse/records"
)

// maxHeadAge is how old the newest block may be: above it, five blocks of the slowest chain are missing.
const maxHeadAge = time.Minute

// tip is the poller of blocks that are not final.
type tip struct{ *Chain }

// pollTip reads the blocks above the tip, one range a call. Where an endpoint has none for long, it asks the next.
func (c tip) pollTip(ctx context.Context) (more bool, err error) {
	var newest header
	err = c.client.each(ctx, 0, func(e *endpoint) error {
		more, err = c.readTip(ctx, e, &newest)
		return err
	})
	// The next poll finds what an endpoint lacks now, or reads what stands now.
	if errors.Is(err, errBehind) || errors.Is(err, errReplaced) {
		return false, c.noteStandstill(ctx, newest)
	}
	return more, err
}

func (c tip) readTip(ctx context.Context, e *endpoint, newest *header) (more bool, err error) {
	at := c.at()
	latest, again := headerCall("latest"), headerCall(hexOf(at.tip.Number))
	if err := c.client.do(ctx, e, latest, again); err != nil {
		return false, err
	}
	head, err := latest.header()
	if err != nil {
		return false, err
	}
	if head.number() >= newest.number() {
		*newest = head
	}
	stands, err := again.header()
	switch {
	case errors.Is(err, errBehind) && head.number() < at.tip.Number:
		// A head further down is a reorganization only if a block that is held was replaced.
	case err != nil:
		return false, err
	case stands.Hash == at.tip.Hash:
		if head.number() <= at.tip.Number {
			return false, c.unlessOld(head)
		}
		return c.readAbove(ctx, e, at, head)
	}
	ancestor, depth, err := c.ancestor(ctx, e, at, head)
	if errors.Is(err, errBehind) && c.isFarBelow(head, at.final) {
		return false, fmt.Errorf("block %d was final and the chain ends at block %d: %w; check the endpoints",
			at.final.Number, head.number(), follow.ErrStopped)
	}
	if err != nil {
		return false, err
	}
	if depth == 0 && c.isFarBelow(head, at.tip) {
		depth = at.tip.Number - ancestor.Number // an endpoint stated blocks that the chain does not have
	}
	if depth == 0 {
		return false, c.unlessOld(head)
	}
	c.Logger.LogAttrs(ctx, slog.LevelWarn, "reorganization", slog.Uint64("chain", c.ChainID),
		slog.Uint64("blocks", depth), slog.Uint64("from", at.tip.Number), slog.Uint64("back_to", ancestor.Number))
	c.metrics.reorgs.Observe(float64(depth))
	c.mu.Lock()
	c.position.held = slices.DeleteFunc(c.position.held, func(b block) bool { return b.Number > ancestor.Number })
	c.position.orphaned = max(c.position.orphaned, at.tip.Number)
	c.position.reorgs++
	c.position.tip = ancestor
	c.mu.Unlock()
	return true, nil
}

// maxBelow is how far a head of the present may be below the tip: an endpoint may be behind another one, by less
// than the blocks of maxHeadAge.
const maxBelow = 1000

// isFarBelow reports whether a head of the present is further below a block that was read than any delay explains.
func (c tip) isFarBelow(head header, read block) bool {
	return head.number()+maxBelow < read.Number && !c.isOld(head)
}

// isOld reports whether a head says that the chain, or the endpoint, which answers all the same, stands still.
func (c tip) isOld(head header) bool { return c.Clock.Now().Sub(head.at()) > maxHeadAge }

// unlessOld returns errBehind for an old head: another endpoint may have a newer one.
func (c tip) unlessOld(head header) error {
	if c.isOld(head) {
		return errBehind
	}
	return nil
}

// atHead sets the state of the tip's cursor by the newest block.
func (c tip) atHead(cursor records.FollowCursor, head header) records.FollowCursor {
	cursor.State = governance.SourceLive
	if c.isOld(head) {
		cursor.State = governance.SourceBehind
		cursor.Error = fmt.Sprintf("the newest block is %d of %s: the endpoint or the chain stands still", head.number(), head.at().Format(time.RFC3339))
	}
	return cursor
}

// noteStandstill says that the newest head of all endpoints is too old, or blocks below it cannot be read for as long.
func (c tip) noteStandstill(ctx context.Context, newest header) error {
	before := c.cursor(pollerTip)
	cursor := c.atHead(before, newest)
	read := c.at().tip.Number
	if at := before.UpstreamAt; newest.number() > read && cursor.State == governance.SourceLive && at != nil && newest.at().Sub(*at) > maxHeadAge {
		cursor.State = governance.SourceFailing
		cursor.Error = fmt.Sprintf("the head is %d, and no endpoint has the blocks after %d", newest.number(), read)
	}
	if newest.number() == 0 || cursor.State == before.State {
		return nil
	}
	return c.journal.Commit(ctx, nil, cursor)
}

// ancestor returns the highest held block that still stands, and how far below the tip it is; depth is 0 if no held
// block up to the head was replaced. It stops the poller if even the final block was.
func (c tip) ancestor(ctx context.Context, e *endpoint, at position, head header) (found block, depth uint64, err error) {
	var numbers []uint64
	for _, b := range at.held {
		if b.Number <= head.number() {
			numbers = append(numbers, b.Number)
		}
	}
	if len(numbers) == 0 {
		return block{}, 0, errBehind
	}
	headers, err := c.client.headers(ctx, e, numbers)
	if err != nil {
		return block{}, 0, err
	}
	replaced := false
	for _, b := range slices.Backward(at.held) {
		h, known := headers[b.Number]
		switch {
		case !known:
		case h.Hash != b.Hash:
			replaced = true
		case replaced:
			return b, at.tip.Number - b.Number, nil
		default:
			return b, 0, nil // which is the tip, or the last one up to the head
		}
	}
	return block{}, 0, fmt.Errorf("block %d was final and is replaced: %w; check the endpoints", at.final.Number, follow.ErrStopped)
}

// readAbove reads the next range above the tip.
func (c tip) readAbove(ctx context.Context, e *endpoint, at position, head header) (more bool, err error) {
	got, err := c.client.read(ctx, e, filterOf(c.governors), at.tip.Number+1, head.number(), false, true)
	if err != nil {
		return false, err
	}
	c.refuseForeign(got)
	c.metrics.span.Set(float64(got.last - got.first + 1))
	// Logs of a branch that was replaced may be above the new head.
	last := got.last
	if got.last == head.number() {
		last = max(last, at.orphaned)
	}
	var held, stale []records.ChainLog
	if got.first <= at.logged {
		if held, err = records.ChainLogs(ctx, c.journal.Warehouse, c.ChainID, got.first, last); err != nil {
			return false, err
		}
		if stale, err = c.stale(ctx, e, got, held); err != nil {
			return false, err
		}
	}
	cursor := c.atHead(c.moved(pollerTip, got.end), head)
	cursor.Reorgs += at.reorgs
	if err := c.write(ctx, change{logs: got.logs, stale: stale, withdrawn: held, also: touched(held), final: at.final.Number}, cursor); err != nil {
		return false, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.position.reorgs -= at.reorgs
	if got.last == head.number() {
		c.position.orphaned = 0
	}
	c.position.advance(got)
	return got.last < head.number(), nil
}
