package chain

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strings"
	"time"

	"pnyx/warehouse"
	"pnyx/warehouse/record"
)

// readPastSupplies asks tokens, once a proposal, for their supply at its snapshot, and writes it: a follower
// that came later has not read the supply of that time. A token without getPastTotalSupply states
// none. Of a clock that counts blocks of another chain, the block is not known.
func (c tokens) readPastSupplies(ctx context.Context) (failed error) {
	c.writing.Lock()
	defer c.writing.Unlock()
	for _, g := range c.governors {
		token := c.delegatingAt(strings.ToLower(g.known().token))
		if g.delegating != nil || token == nil || token.delegating.registry {
			continue
		}
		failed = errors.Join(failed, c.readSuppliesAt(ctx, g, token))
	}
	return failed
}

// readSuppliesAt asks a token for its supply at the snapshots of some of a Governor's proposals.
func (c tokens) readSuppliesAt(ctx context.Context, g, token *governor) error {
	asked := c.supplyLacking(g)
	if len(asked) == 0 {
		return nil
	}
	said, err := c.client.ask(ctx, warehouse.Values(asked, func(p proposal) method {
		return method{token.address, "getPastTotalSupply(uint256)", []*big.Int{p.start}, "uint256"}
	})...)
	if err != nil {
		return err
	}
	var records []record.Record
	for i, p := range asked {
		supply := c.supplyOf(token, said[i], record.Placed{Scope: token.source.ID, Block: p.start.Uint64(), LogIndex: lastInBlock, At: g.note(p.id).Start.At})
		if supply == nil {
			continue
		}
		if g.rulesOf(p.id).Seconds {
			if supply.Block, err = c.lastBlockOf(ctx, p.start.Uint64()); err != nil {
				return err
			}
		}
		records = append(records, supply)
	}
	if _, err := c.journal.Commit(ctx, records); err != nil {
		return err
	}
	for _, p := range asked {
		n := g.note(p.id)
		n.SupplyAsked = n.Start.Value
	}
	return consultant(c).saveNotes(ctx, g, asked)
}

// lastBlockOf returns the last block that is not after a second, of which a later block is final.
func (c tokens) lastBlockOf(ctx context.Context, second uint64) (number uint64, err error) {
	err = c.client.each(ctx, 0, func(e *endpoint) (err error) {
		number, err = counter(c).blockAt(ctx, e, time.Unix(int64(second)+1, 0), 1, c.at().final.Number) //nolint:gosec // a date that has passed
		return err
	})
	return number - 1, err
}

// supplyLacking returns some proposals with a snapshot below the final block for which the token was not asked,
// with their starts alone.
func (c tokens) supplyLacking(g *governor) (asked []proposal) {
	final, finalAt := c.at().final.Number, c.cursor(pollerFinal).UpstreamAt
	for _, id := range slices.Sorted(maps.Keys(g.notes)) {
		n := g.notes[id]
		start, ok := new(big.Int).SetString(n.Start.Value, 10)
		if n.Withdrawn || !n.Start.Settled || n.SupplyAsked == n.Start.Value || !ok || !start.IsUint64() {
			continue
		}
		if g.rulesOf(id).Seconds {
			if finalAt == nil || n.Start.At == nil || !n.Start.At.Time().Before(*finalAt) {
				continue
			}
		} else if c.clockClient != c.client || start.Uint64() >= final {
			continue
		}
		if asked = append(asked, proposal{id: id, start: start}); len(asked) == maxBatch {
			break
		}
	}
	return asked
}

// supplyOf returns what a token states of its supply as of a block; nil where it states none.
func (c tokens) supplyOf(token *governor, said any, placed record.Placed) *record.TokenSupply {
	units, is := said.(*big.Int)
	if !is {
		return nil
	}
	known := token.known()
	supply, _, err := known.amount(units)
	if err != nil {
		c.journal.Reject(record.SourceRef{}, "supply", fmt.Errorf("%s at block %d: %w", token.source.ID, placed.Block, err))
		return nil
	}
	return &record.TokenSupply{Placed: placed, Supply: supply}
}
