package chain

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"pnyx/governance"
	"pnyx/warehouse/record"
	"pnyx/warehouse/records"
)

// position is how far a chain is read.
type position struct {
	// final is the last block that was read twice and is not replaced any more.
	final block
	tip   block
	// held are the blocks from final to tip by whose hash a reorganization is noticed, ascending: those with logs,
	// the last one of each range, the head.
	held []block
	// orphaned is the highest block read of a replaced branch; 0 once the new branch is read.
	orphaned uint64
	// reorgs counts the reorganizations that the cursor does not count yet.
	reorgs uint64
	// logged is the highest block with a stored log.
	logged uint64
	// recent has the highest block with a log of each proposal that has one above final.
	recent map[records.ChainLogKey]uint64
	// since has the final block since which each contract is read without a break, by address.
	since map[string]uint64
}

// finalPosition is the position of poller final.
type finalPosition struct {
	block

	// Since is position.since; nil where an earlier version wrote none.
	Since map[string]uint64 `json:"since,omitempty"`
}

// block is a block by number and hash. Its JSON form is the position of a cursor.
type block struct {
	Number uint64 `json:"number"`
	Hash   string `json:"hash"`
}

func (h header) block() block { return block{h.number(), h.Hash} }

func (c *Chain) cursor(poller string) records.FollowCursor {
	return c.journal.Cursor(record.SourceRef{Provider: governance.Governor}, poller)
}

func (c *Chain) moved(poller string, to header) records.FollowCursor {
	cursor := c.cursor(poller)
	cursor.SetPosition(to.block())
	cursor.State, cursor.UpstreamAt = governance.SourceLive, new(to.at())
	return cursor
}

// begin reads what the warehouse knows of the chain, once. What was read above the last final block is compared again.
func (c *Chain) begin(ctx context.Context) error {
	c.writing.Lock()
	defer c.writing.Unlock()
	c.mu.Lock()
	began := c.began
	c.mu.Unlock()
	if began {
		return nil
	}
	for _, g := range c.governors[:len(c.Governors)] {
		if err := c.probe(ctx, g); err != nil {
			return err
		}
		if err := c.loadChanges(ctx, g); err != nil {
			return err
		}
	}
	tokens{c}.addTokens()
	for _, g := range c.governors[len(c.Governors):] {
		if err := c.probe(ctx, g); err != nil {
			return err
		}
	}
	if err := (consultant{c}).loadNotes(ctx); err != nil {
		return err
	}
	final, err := c.firstFinal(ctx)
	if err != nil {
		return err
	}
	since := c.readSince(final)
	if err := (backfiller{c}).beginBackfills(ctx, final.block, since); err != nil {
		return err
	}
	logged, err := records.LastChainLog(ctx, c.journal.Warehouse, c.ChainID)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.position = position{
		final: final.block, tip: final.block, held: []block{final.block}, logged: logged, recent: map[records.ChainLogKey]uint64{}, since: since,
	}
	c.began = true
	return nil
}

// readSince returns since when each contract is read: from now on where blocks up to the final one were read
// without it.
func (c *Chain) readSince(final finalPosition) map[string]uint64 {
	since := map[string]uint64{}
	for _, g := range c.governors {
		at, known := final.Since[g.address]
		if !known && final.Since != nil {
			at = final.Number
		}
		since[g.address] = at
	}
	return since
}

func (c *Chain) loadChanges(ctx context.Context, g *governor) error {
	logs, err := records.ChainLogsOf(ctx, c.journal.Warehouse, c.ChainID, g.address, "")
	if err != nil {
		return err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	clear(g.changes)
	for _, l := range logs {
		if of := layouts()[l.Topics[0]].kind; !l.Withdrawn && of != "" {
			g.changes[of] = append(g.changes[of], l.BlockNumber)
		}
	}
	return nil
}

// firstFinal returns the final block at which reading begins: the cursor's, or the present one, which becomes the
// cursor before anything is read.
func (c *Chain) firstFinal(ctx context.Context) (final finalPosition, err error) {
	if cursor := c.cursor(pollerFinal); cursor.Position != "" {
		return final, cursor.ReadPosition(&final)
	}
	var now header
	if err := c.client.each(ctx, 0, func(e *endpoint) error {
		if now, err = c.finalHeader(ctx, e); err != nil {
			return err
		}
		// A backfill that has begun ends where the first process began to read.
		number, err := backfiller{c}.backfilled(now.number())
		if err != nil || number == now.number() {
			return err
		}
		found, err := c.client.headers(ctx, e, []uint64{number})
		now = found[number]
		return err
	}); err != nil {
		return final, err
	}
	final.block = now.block()
	return final, c.journal.Commit(ctx, nil, c.moved(pollerFinal, now))
}

// finalHeader returns the header of the last final block, by the endpoint's tag or by depth.
func (c *Chain) finalHeader(ctx context.Context, e *endpoint) (header, error) {
	tagged, latest := headerCall("finalized"), headerCall("latest")
	if err := c.client.do(ctx, e, tagged, latest); err != nil {
		return header{}, err
	}
	if c.Finality == 0 {
		refused, isRefused := errors.AsType[*rpcError](tagged.err)
		final, err := tagged.header()
		if err == nil {
			head, headErr := latest.header()
			if headErr == nil && final.number() > head.number() {
				headErr = fmt.Errorf("block %d is final and the chain ends at block %d: %w", final.number(), head.number(), errBehind)
			}
			return final, headErr
		}
		if isRefused && !refused.isUnknownTag() {
			return final, err
		}
	}
	head, err := latest.header()
	if err != nil {
		return header{}, err
	}
	depth := cmp.Or(c.Finality, map[uint64]uint64{1: 65, 137: 200, 42161: 240}[c.ChainID], 30)
	number := head.number() - min(head.number(), depth)
	found, err := c.client.headers(ctx, e, []uint64{number})
	return found[number], err
}

func (c *Chain) at() position {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.position
	p.held = slices.Clone(p.held)
	return p
}

// advance moves the tip over blocks that were read.
func (p *position) advance(got blocks) {
	const maxHeld = 1_000 // bounds the blocks of which the hash is held
	for number, hash := range got.hashes {
		if number != got.last {
			p.held = append(p.held, block{number, hash})
		}
	}
	slices.SortFunc(p.held, func(a, b block) int { return int(a.Number) - int(b.Number) }) //nolint:gosec // block numbers
	p.tip = got.end.block()
	p.held = append(p.held, p.tip)
	if len(p.held) > maxHeld {
		// Nothing was final for long. A reorganization deeper than these goes back to the final block.
		p.held = slices.Delete(p.held, 1, len(p.held)/2)
	}
}
