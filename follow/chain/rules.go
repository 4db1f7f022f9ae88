package chain

import (
	"context"
	"math/big"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"pnyx/governance"
)

// rules are how a Governor counts. They belong to a block: a contract behind a proxy may have
// others before and after. A proposal has the rules of the block that created it.
type rules struct {
	// Block is the block of which they are; 0 for the head.
	Block uint64
	// Decimals are the token's; DecimalsKnown is false where none says: amounts are in smallest units then.
	Decimals      uint8
	DecimalsKnown bool
	// Seconds is true if the clock counts seconds instead of blocks.
	Seconds bool
	// QuorumChoices are the choices that count towards the quorum; nil where unknown.
	QuorumChoices []string
	// InParts is true if a voter may divide power, ForFirst if the parts begin with those in favour.
	InParts  bool
	ForFirst *bool `json:",omitempty"`
	// UnknownMode is the counting mode if a word of it is not known; empty else. With UnknownSides
	// it is unknown what supports a proposal, with UnknownQuorum what counts towards the quorum.
	UnknownMode                 string
	UnknownSides, UnknownQuorum bool
}

// outdated reports rules that were learned before the order of parts was.
func (r *rules) outdated() bool { return r.InParts && r.ForFirst == nil }

// amount returns smallest units as voting power.
func (r *rules) amount(units *big.Int) (power decimal.Decimal, rounded bool, err error) {
	return governance.ParsePower(decimal.NewFromBigInt(units, -int32(r.Decimals)).String())
}

// rulesOf returns the rules of a proposal: the head's while its own are not known.
func (g *governor) rulesOf(id string) rules {
	if n := g.notes[id]; n != nil && n.Rules != nil {
		return *n.Rules
	}
	return g.known().rules
}

// learnRules asks for the rules of a proposal, once, and reports whether its records were made with others.
func (c *Chain) learnRules(ctx context.Context, g *governor, p proposal) (changed bool, err error) {
	n, block := g.note(p.id), p.created.BlockNumber
	if n.Rules != nil && n.Rules.Block == block && !n.Rules.outdated() {
		return false, nil
	}
	before := g.rulesOf(p.id)
	found, held, err := c.factsAt(ctx, g, hexOf(block))
	switch {
	case err != nil:
		return false, err
	case !held && block > c.at().final.Number:
		return false, nil // the endpoint is behind: it is asked with the next poll of states
	case !held:
		found.rules = g.known().rules
		found.UnknownQuorum = found.UnknownQuorum || g.changedSince(block, eventUpgraded)
	}
	found.Seconds = p.countsSeconds(found.Seconds)
	found.Block, before.Block = block, block
	n.Start, n.End, n.QuorumEnd = moment{}, moment{}, "" // which may have been read by other rules
	n.Rules, changed = &found.rules, !reflect.DeepEqual(before, found.rules)
	if changed {
		c.unsure.Store(true)
	}
	return changed, nil
}

// countsSeconds reports whether the clock values of a proposal are times. What the contract says may be of another
// time, and the value of the start is of one kind alone.
func (p proposal) countsSeconds(stated bool) bool {
	const firstTime = 1_000_000_000 // a time of 2001, and no number of a block
	if !p.start.IsInt64() {
		return stated
	}
	away := time.Unix(p.start.Int64(), 0).Sub(p.created.BlockAt).Abs()
	return p.start.Int64() >= firstTime && (stated || away < 366*day)
}

// countedSides returns the choices that are sides, in their order.
func countedSides(choices []string) (sides []string) {
	for _, side := range []string{governance.GovernorFor, governance.GovernorAgainst, governance.GovernorAbstain} {
		if slices.Contains(choices, side) {
			sides = append(sides, side)
		}
	}
	return sides
}

// setMode takes from COUNTING_MODE who supports what, which sides count towards the quorum, and what the params of a
// vote mean. Alpha and Bravo, which have a constant quorum, count those in favour alone.
func (r *rules) setMode(counting string, constantQuorum bool) {
	if constantQuorum {
		r.QuorumChoices = []string{governance.GovernorFor}
	}
	if plain, err := url.QueryUnescape(counting); err == nil {
		counting = plain // it has the form of a query
	}
	for part := range strings.SplitSeq(counting, "&") {
		key, value, _ := strings.Cut(part, "=")
		var known bool
		switch words := strings.Split(value, ","); key {
		case "support":
			r.UnknownSides = !slices.Contains(words, "bravo")
			known = !slices.ContainsFunc(words, func(word string) bool { return !slices.Contains([]string{"bravo", "fractional", "override"}, word) })
		case "quorum":
			if value == "bravo" {
				words = []string{governance.GovernorFor}
			}
			r.QuorumChoices = countedSides(words)
			known = len(r.QuorumChoices) == len(words)
			r.UnknownQuorum = !known
		case "params":
			r.InParts = value == "fractional"
			known = r.InParts || value == "modules"
		default:
			known = part == "" || part == "overridable=true"
		}
		if !known {
			r.UnknownMode = counting
		}
	}
	if r.InParts {
		// ScopeLift's contracts stated them so as long as they had this quorum.
		r.ForFirst = new(strings.Contains(counting, "quorum=bravo"))
	}
}
