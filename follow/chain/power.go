package chain

import (
	"context"
	"errors"
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

const (
	// askPowersEvery is the time between two questions to a token for the powers of its first delegates.
	askPowersEvery = time.Hour
	// maxSilentAsked is of how many delegates a token is asked whose powers change without a log.
	maxSilentAsked = 100
	// lastInBlock orders what a contract states as of a block after the logs of that block.
	lastInBlock = math.MaxUint32
)

// askedPowers says what a token was asked last for powers.
type askedPowers struct {
	at    time.Time
	block uint64
	// differed is true if its logs did not come to the answers, silent if they did not twice in a row: locked votes
	// lose power without a log.
	differed, silent bool
}

// readPowers asks each token, by the hour, for the powers of its first delegates as of the final block, and writes
// those that its logs do not come to. Then it asks at the next final block: a log is not missed twice.
func (c tokens) readPowers(ctx context.Context) (failed error) {
	final, now := c.at().final, c.Clock.Now()
	var records []record.Record
	for _, g := range c.tokens() {
		if final.Number <= g.delegating.asked.block || c.backfillCursor(g).State != governance.SourceLive || now.Sub(g.delegating.asked.at) < askPowersEvery {
			continue
		}
		stated, err := c.statedPowers(ctx, g, final)
		if err != nil {
			failed = errors.Join(failed, err)
			continue
		}
		if asked := &g.delegating.asked; !asked.differed || asked.silent {
			asked.at = now
		}
		records = append(records, stated...)
	}
	return errors.Join(failed, c.journal.Commit(ctx, records))
}

// statedPowers returns the powers of a token's first delegates that its contract states otherwise than they are
// held. Of a silent token it returns all, and none for the zero address: earlier statements are unknown by now.
func (c tokens) statedPowers(ctx context.Context, g *governor, as block) ([]record.Record, error) {
	asked, count := &g.delegating.asked, govrules.FirstDelegates
	if asked.silent {
		count = maxSilentAsked
	}
	held, err := feed.FirstPowers(ctx, c.journal.Warehouse, g.source.ID, as.Number+1, count)
	if err != nil || len(held) == 0 {
		return nil, err
	}
	answers, there, err := c.askPowers(ctx, g, held, as)
	if err != nil || !there {
		return nil, err
	}
	known, placed := g.known(), c.placedAt(g, as)
	placed.LogIndex = lastInBlock
	var all, differing []record.Record
	for i, h := range held {
		units, is := answers[i].(*big.Int)
		if !is {
			continue
		}
		power, _, err := known.amount(units)
		if err != nil {
			c.journal.Reject(record.SourceRef{}, "power", fmt.Errorf("%s of %s: %w", h.Delegate, g.source.ID, err))
			continue
		}
		stated := &record.DelegatePower{Placed: placed, Delegate: h.Delegate, Power: power}
		if all = append(all, stated); power.Equal(h.Power) {
			continue
		}
		differing = append(differing, stated)
		c.Logger.LogAttrs(ctx, slog.LevelInfo, "token states another power than its logs, writing the stated one", slog.String("token", g.source.ID),
			slog.String("delegate", h.Delegate), slog.String("stated", power.String()), slog.String("held", h.Power.String()))
	}
	differs := len(differing) > 0 || len(all) == 0 // a token that states no power vouches for none
	asked.block, asked.silent, asked.differed = as.Number, asked.silent || asked.differed && differs, differs
	if !asked.silent {
		return differing, nil
	}
	return append(all, &record.DelegatePower{Placed: placed, Delegate: zeroAddress}), nil
}

// askPowers asks a token for powers as of a block. Tokens made before OpenZeppelin's have the second method.
func (c tokens) askPowers(ctx context.Context, g *governor, of []feed.PowerChange, as block) (answers []any, held bool, err error) {
	answers = make([]any, len(of))
	for _, signature := range []string{"getVotes(address)", "getCurrentVotes(address)"} {
		var methods []method
		var at []int
		for i, h := range of {
			if delegate, is := new(big.Int).SetString(h.Delegate, 0); is && answers[i] == nil {
				at, methods = append(at, i), append(methods, method{to: g.address, signature: signature, args: []*big.Int{delegate}, result: "uint256"})
			}
		}
		stated, held, err := c.client.askAt(ctx, hexOf(as.Number), methods...)
		if err != nil || !held {
			return nil, false, err
		}
		for i, value := range stated {
			answers[at[i]] = value
		}
	}
	return answers, true, nil
}
