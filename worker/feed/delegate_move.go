package feed

import (
	"cmp"
	"slices"

	"github.com/shopspring/decimal"

	"pnyx/governance"
	"pnyx/governance/rules"
	"pnyx/warehouse/feed"
)

// delegateMove is a move with the time when the warehouse had the statements of its block.
type delegateMove struct {
	rules.DelegateMove
	discoveredAt governance.Timestamp
}

// delegateMoves returns the moves of a token's first delegates, in order of blocks, but in blocks without a time.
func delegateMoves(token string, history feed.PowerHistory) (moves []delegateMove) {
	powers := powerRanking{powers: map[string]decimal.Decimal{}}
	for _, held := range history.Before {
		powers.set(held.Delegate, held.Power)
	}
	supplies, supply := history.Supplies, (*decimal.Decimal)(nil)
	for changes := history.Changes; len(changes) > 0; {
		block := changes[0].Block
		n := len(changes)
		if next := slices.IndexFunc(changes, func(c feed.PowerChange) bool { return c.Block != block }); next > 0 {
			n = next
		}
		for len(supplies) > 0 && supplies[0].Block <= block {
			supply, supplies = nil, supplies[1:]
			if stated := history.Supplies[len(history.Supplies)-len(supplies)-1].Supply; stated.IsPositive() {
				supply = &stated
			}
		}
		moves = append(moves, powers.apply(token, changes[:n], supply)...)
		changes = changes[n:]
	}
	return moves
}

type powerRanking struct {
	powers map[string]decimal.Decimal
	// order has the delegates with power, the greatest first; equal ones by identity.
	order []string
}

// place returns the place of a delegate with a power, and whether the delegate has it.
func (r *powerRanking) place(delegate string, power decimal.Decimal) (int, bool) {
	return slices.BinarySearchFunc(r.order, delegate, func(other, _ string) int {
		return cmp.Or(power.Cmp(r.powers[other]), cmp.Compare(other, delegate))
	})
}

func (r *powerRanking) set(delegate string, power decimal.Decimal) {
	if held, ranked := r.powers[delegate]; ranked {
		at, _ := r.place(delegate, held)
		r.order = slices.Delete(r.order, at, at+1)
		delete(r.powers, delegate)
	}
	if power.IsPositive() {
		at, _ := r.place(delegate, power)
		r.order = slices.Insert(r.order, at, delegate)
		r.powers[delegate] = power
	}
}

func (r *powerRanking) first() []string {
	return slices.Clone(r.order[:min(len(r.order), rules.FirstDelegates)])
}

func (r *powerRanking) apply(token string, changes []feed.PowerChange, supply *decimal.Decimal) (moves []delegateMove) {
	was, held := r.first(), map[string]decimal.Decimal{}
	var at *governance.Timestamp
	var discoveredAt governance.Timestamp
	for _, c := range changes {
		held[c.Delegate] = r.powers[c.Delegate]
		r.set(c.Delegate, c.Power)
		at, discoveredAt = cmp.Or(at, c.At), max(discoveredAt, c.DiscoveredAt)
	}
	if at == nil {
		return nil
	}
	is := r.first()
	for _, delegate := range append(slices.Clone(was), is...) {
		wasFirst, isFirst := slices.Contains(was, delegate), slices.Contains(is, delegate)
		m := rules.DelegateMove{
			Delegate: delegate, Token: token, Block: changes[0].Block, At: *at,
			Before: r.powers[delegate], After: r.powers[delegate], Supply: supply,
		}
		if before, changed := held[delegate]; changed {
			m.Before = before
		}
		if move, found := rules.DelegateMoveOf(m, wasFirst, isFirst); found && !slices.ContainsFunc(moves, func(other delegateMove) bool {
			return other.Delegate == delegate
		}) {
			moves = append(moves, delegateMove{move, discoveredAt})
		}
	}
	return moves
}
