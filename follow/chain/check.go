package chain

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"pnyx/fetch"
	"pnyx/follow"
)

const day = 24 * time.Hour

// Check asks what each Governor is, and whether its logs can be read.
func (c *Chain) Check(ctx context.Context) []follow.Check {
	checks := make([]follow.Check, len(c.governors))
	// While nothing happens: polls of the head, one more for each block, polls of the final block and of states.
	const blocksPerDay = int(day / (12 * time.Second))
	polls := int(day / cmp.Or(c.Interval, defaultInterval))
	idle := polls + min(polls, blocksPerDay) + 2*int(day/finalInterval)
	for i, g := range c.governors {
		check := follow.Check{
			Source: g.source.ID, RequestsPerDay: idle / len(c.governors), RequestsPerDayBusy: (idle + idle/10) / len(c.governors),
		}
		var err error
		if check.Is, check.Problem, err = c.describe(ctx, g); err != nil {
			check.Problem, check.Silent = err.Error(), true
		}
		checks[i] = check
	}
	return checks
}

// describe returns what a Governor is, and what stands in the way of following it.
func (c *Chain) describe(ctx context.Context, g *governor) (is, problem string, err error) {
	for _, e := range c.client.endpoints { // those of another chain would never be asked
		if err := c.client.identify(ctx, e); errors.Is(err, follow.ErrStopped) {
			return "", "", err
		}
	}
	if err := c.probe(ctx, g); err != nil {
		return "", "", err
	}
	var head, final header
	err = c.client.each(ctx, 0, func(e *endpoint) error {
		if head, err = c.client.newest(ctx, e); err != nil {
			return err
		}
		if final, err = c.finalHeader(ctx, e); err != nil {
			return err
		}
		first := uint64(1)
		if g.FirstBlock != nil {
			first = *g.FirstBlock
		}
		_, err = c.client.read(ctx, e, filterOf([]*governor{g}), first, first, false, false)
		return err
	})
	if err != nil {
		return "", "", err
	}
	known := g.known()
	is = strings.Join(append(known.words(), fmt.Sprintf("head %d, final %d", head.number(), final.number())), ", ")
	if late, err := (backfiller{c}).isLate(ctx, g); late || err != nil {
		return is, fmt.Sprintf("firstBlock %d is too late: the contract was there before", *g.FirstBlock), err
	}
	code, err := c.client.ask(ctx, method{to: g.address, signature: "votingPeriod()", result: "uint256"})
	switch {
	case err != nil:
		return is, "", err
	case code[0] == nil && known.proposals == 0 && known.QuorumChoices == nil: // a token has a name too
		return is, "the contract answers as no Governor does: check the address and the chain", nil
	case !known.DecimalsKnown:
		return is, "the decimals of the token are unknown, so that amounts are in smallest units: name the token in the sources file", nil
	}
	return is, "", nil
}

func (f facts) words() (words []string) {
	clock, name := "blocks", "a Governor"
	if f.Seconds {
		clock = "seconds"
	}
	if f.name != "" {
		name = "Governor " + validText(fetch.Clip(f.name))
	}
	words = append(words, name)
	if f.proposals > 0 {
		words = append(words, fmt.Sprintf("%d proposals", f.proposals))
	}
	if f.symbol != "" {
		words = append(words, fmt.Sprintf("token %s with %d decimals", validText(fetch.Clip(f.symbol)), f.Decimals))
	}
	if f.QuorumChoices != nil {
		words = append(words, "quorum of "+strings.Join(f.QuorumChoices, " and "))
	}
	if f.timelock != "" {
		words = append(words, "timelock "+f.timelock)
	}
	return append(words, "clock in "+clock)
}
