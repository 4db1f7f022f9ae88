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

// supplyAsked is a proposal whose token is asked for its supply at the block of the snapshot.
type supplyAsked struct {
	governor, token *governor
	id              string
	note            *note
	block           uint64
}

// readPastSupplies asks tokens, once a proposal, for their supply at the block of its snapshot, and writes
// it: a follower that came later has not read the supply of that time. A token without
// getPastTotalSupply states none. Of a clock that counts seconds, or blocks of another chain, the block is not known.
func (c tokens) readPastSupplies(ctx context.Context) error {
	c.writing.Lock()
	defer c.writing.Unlock()
	asked := c.supplyLacking()
	if len(asked) == 0 {
		return nil
	}
	methods := make([]method, len(asked))
	for i, a := range asked {
		methods[i] = method{a.token.address, "getPastTotalSupply(uint256)", []*big.Int{new(big.Int).SetUint64(a.block)}, "uint256"}
	}
	said, err := c.client.ask(ctx, methods...)
	if err != nil {
		return err
	}
	var records []record.Record
	for i, a := range asked {
		a.note.SupplyAsked = a.note.Start.Value
		units, is := said[i].(*big.Int)
		if !is {
			continue
		}
		known := a.token.known()
		supply, _, err := known.amount(units)
		if err != nil {
			c.journal.Reject(record.SourceRef{}, "supply", fmt.Errorf("%s at block %d: %w", a.token.source.ID, a.block, err))
			continue
		}
		records = append(records, &record.TokenSupply{
			Placed: record.Placed{Scope: a.token.source.ID, Block: a.block, LogIndex: lastInBlock, At: a.note.Start.At}, Supply: supply,
		})
	}
	if len(records) > 0 {
		if _, err := c.journal.Commit(ctx, records); err != nil {
			return err
		}
	}
	for _, a := range asked {
		if err := c.saveNotes(ctx, a.governor, []proposal{{id: a.id}}); err != nil {
			return err
		}
	}
	return nil
}

// supplyLacking returns some proposals with a snapshot at a final block for which the token was not asked.
func (c tokens) supplyLacking() (asked []supplyAsked) {
	final := c.at().final.Number
	if c.clockClient != c.client {
		return nil
	}
	for _, g := range c.governors {
		token := c.delegatingAt(strings.ToLower(g.known().token))
		if g.delegating != nil || token == nil || token.delegating.registry {
			continue
		}
		for _, id := range slices.Sorted(maps.Keys(g.notes)) {
			n := g.notes[id]
			start, ok := new(big.Int).SetString(n.Start.Value, 10)
			if n.Withdrawn || !n.Start.Settled || n.SupplyAsked == n.Start.Value || g.rulesOf(id).Seconds ||
				!ok || !start.IsUint64() || start.Uint64() >= final {
				continue
			}
			if asked = append(asked, supplyAsked{g, token, id, n, start.Uint64()}); len(asked) == maxBatch {
				return asked
			}
		}
	}
	return asked
}
