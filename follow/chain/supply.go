package chain

import (
	"context"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strings"

	"pnyx/warehouse/record"
)

// readPastSupplies asks tokens, once a proposal, for their supply at the block of its snapshot, and writes
// it: a follower that came later has not read the supply of that time. A token without
// getPastTotalSupply states none. Of a clock that counts seconds, or blocks of another chain, the block is not known.
func (c tokens) readPastSupplies(ctx context.Context) error {
	c.writing.Lock()
	defer c.writing.Unlock()
	if c.clockClient != c.client {
		return nil
	}
	for _, g := range c.governors {
		token := c.delegatingAt(strings.ToLower(g.known().token))
		if g.delegating != nil || token == nil || token.delegating.registry {
			continue
		}
		if err := c.readSuppliesAt(ctx, g, token); err != nil {
			return err
		}
	}
	return nil
}

// readSuppliesAt asks a token for its supply at the snapshots of some of a Governor's proposals.
func (c tokens) readSuppliesAt(ctx context.Context, g, token *governor) error {
	asked := c.supplyLacking(g)
	if len(asked) == 0 {
		return nil
	}
	methods := make([]method, len(asked))
	for i, p := range asked {
		methods[i] = method{token.address, "getPastTotalSupply(uint256)", []*big.Int{p.start}, "uint256"}
	}
	said, err := c.client.ask(ctx, methods...)
	if err != nil {
		return err
	}
	var records []record.Record
	for i, p := range asked {
		n := g.note(p.id)
		n.SupplyAsked = n.Start.Value
		placed := record.Placed{Scope: token.source.ID, Block: p.start.Uint64(), LogIndex: lastInBlock, At: n.Start.At}
		if supply := c.supplyOf(token, said[i], placed); supply != nil {
			records = append(records, supply)
		}
	}
	if len(records) > 0 {
		if _, err := c.journal.Commit(ctx, records); err != nil {
			return err
		}
	}
	return c.saveNotes(ctx, g, asked)
}

// supplyLacking returns some proposals with a snapshot at a final block for which the token was not asked,
// with their starts alone.
func (c tokens) supplyLacking(g *governor) (asked []proposal) {
	final := c.at().final.Number
	for _, id := range slices.Sorted(maps.Keys(g.notes)) {
		n := g.notes[id]
		start, ok := new(big.Int).SetString(n.Start.Value, 10)
		if n.Withdrawn || !n.Start.Settled || n.SupplyAsked == n.Start.Value || g.rulesOf(id).Seconds ||
			!ok || !start.IsUint64() || start.Uint64() >= final {
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
