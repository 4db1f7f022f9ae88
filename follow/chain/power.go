package chain

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"math/big"
	"time"

	"pnyx/governance"
	govrules "pnyx/governance/rules"
	"pnyx/warehouse/feed"
	"pnyx/warehouse/record"
)

// askPowersEvery is the time between two questions to a token for the powers of its first delegates.
const askPowersEvery = time.Hour

// lastInBlock orders what a contract states as of a block after the logs of that block.
const lastInBlock = math.MaxUint32

// readPowers asks each token, by the hour, for the powers of its first delegates as of the final block, and
// writes those that its logs do not come to: locked votes lose power without a log.
func (c tokens) readPowers(ctx context.Context) error {
	final, now := c.at().final, c.Clock.Now()
	var records []record.Record
	for _, g := range c.governors {
		if g.delegating == nil || g.delegating.registry || final.Number == 0 ||
			c.backfillCursor(g).State != governance.SourceLive || now.Sub(g.delegating.askedAt) < askPowersEvery {
			continue
		}
		differing, err := c.powersUnlike(ctx, g, final)
		if err != nil {
			return err
		}
		g.delegating.askedAt = now
		records = append(records, differing...)
	}
	if len(records) == 0 {
		return nil
	}
	_, err := c.journal.Commit(ctx, records)
	return err
}

// powersUnlike returns the powers of the first delegates of a token that its contract states otherwise
// than they are held as of a block.
func (c tokens) powersUnlike(ctx context.Context, g *governor, as block) (records []record.Record, err error) {
	held, err := feed.FirstPowers(ctx, c.journal.Warehouse, g.source.ID, as.Number+1, govrules.FirstDelegates)
	if err != nil || len(held) == 0 {
		return nil, err
	}
	// Tokens made before OpenZeppelin's have the second method.
	methods := make([]method, 0, 2*len(held))
	for _, signature := range []string{"getVotes(address)", "getCurrentVotes(address)"} {
		for _, h := range held {
			delegate, _ := new(big.Int).SetString(h.Delegate, 0)
			methods = append(methods, method{to: g.address, signature: signature, args: []*big.Int{delegate}, result: "uint256"})
		}
	}
	stated, there, err := c.client.askAt(ctx, hexOf(as.Number), methods...)
	if err != nil || !there {
		return nil, err
	}
	known, placed := g.known(), c.placedAt(g, as)
	placed.LogIndex = lastInBlock
	for i, h := range held {
		units, is := stated[i].(*big.Int)
		if !is {
			units, is = stated[len(held)+i].(*big.Int)
		}
		if !is {
			continue
		}
		power, _, err := known.amount(units)
		if err != nil {
			c.journal.Reject(record.SourceRef{}, "power", fmt.Errorf("%s of %s: %w", h.Delegate, g.source.ID, err))
			continue
		}
		if power.Equal(h.Power) {
			continue
		}
		c.Logger.LogAttrs(ctx, slog.LevelInfo, "token states another power than its logs, writing the stated one", slog.String("token", g.source.ID),
			slog.String("delegate", h.Delegate), slog.String("stated", power.String()), slog.String("held", h.Power.String()))
		records = append(records, &record.DelegatePower{Placed: placed, Delegate: h.Delegate, Power: power})
	}
	return records, nil
}
