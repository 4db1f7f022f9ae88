package recount_test

import (
	"cmp"
	"crypto/sha256"
	"math/big"
	"slices"
	"time"
)

// finalTurnout is the turnout of a vote that is over, with final totals.
type finalTurnout struct {
	end   time.Time
	ref   string // a hash, which orders votes that end at one moment
	votes int64
	power *big.Rat
}

// turnout returns the turnout of a vote, and false while its totals are not final.
func (p *poll) turnout(now time.Time, result count) (finalTurnout, bool) {
	basis := p.basis(now, result)
	if p.spam || p.end == nil || p.lifecycle(now) != "closed" || p.outcome(now, result) == "canceled" || basis == "" {
		return finalTurnout{}, false
	}
	sum := sha256.Sum256([]byte(p.provider + "\x00" + p.externalID))
	t := finalTurnout{*p.end, string(sum[:16]), int64(len(p.ballots)), ratio(result.power)}
	if basis == "ballots" {
		return t, !p.partial()
	}
	if p.stated == nil {
		return t, false
	}
	t.votes = int64(*p.stated)
	t.power, _ = p.statement()
	return t, true
}

// turnoutsOf returns the turnouts of all polls, by DAO, provider and space, in order.
func turnoutsOf(polls map[string]*poll) (map[string][]finalTurnout, error) {
	all := map[string][]finalTurnout{}
	for _, p := range polls {
		result, err := p.result()
		if err != nil {
			return nil, err
		}
		if t, over := p.turnout(time.Now(), result); over {
			all[p.series()] = append(all[p.series()], t)
		}
	}
	for _, series := range all {
		slices.SortFunc(series, func(a, b finalTurnout) int { return cmp.Or(a.end.Compare(b.end), cmp.Compare(a.ref, b.ref)) })
	}
	return all, nil
}

// series names the votes that a vote is compared with.
func (p *poll) series() string { return p.daoID + "\x00" + p.provider + "\x00" + p.space }

// weighed returns the part of an importance that the turnout of a vote deserves, beside the last ten
// that ended before it began.
func (p *poll) weighed(score int, own finalTurnout, series []finalTurnout) int {
	began := *p.end
	if p.start != nil && p.start.Before(began) {
		began = *p.start
	}
	before := slices.DeleteFunc(slices.Clone(series), func(t finalTurnout) bool { return !t.end.Before(began) })
	before = before[max(0, len(before)-10):]
	var votes, powers []*big.Rat
	for _, t := range before {
		votes, powers = append(votes, new(big.Rat).SetInt64(t.votes)), append(powers, t.power)
	}
	percent := int64(100)
	for own, usual := range map[*big.Rat]*big.Rat{new(big.Rat).SetInt64(own.votes): middle(votes), own.power: middle(powers)} {
		if usual != nil && usual.Sign() > 0 {
			part := new(big.Rat).Quo(own, usual)
			part.Mul(part, big.NewRat(100, 1))
			percent = min(percent, new(big.Int).Quo(part.Num(), part.Denom()).Int64())
		}
	}
	return int(int64(score) * (100 + percent) * (50 + min(own.votes, 50)) / 20_000)
}

// middle returns the median of some numbers, and nil for fewer than five.
func middle(numbers []*big.Rat) *big.Rat {
	if len(numbers) < 5 {
		return nil
	}
	slices.SortFunc(numbers, (*big.Rat).Cmp)
	half := len(numbers) / 2
	if len(numbers)%2 > 0 {
		return numbers[half]
	}
	sum := new(big.Rat).Add(numbers[half-1], numbers[half])
	return sum.Quo(sum, big.NewRat(2, 1))
}
