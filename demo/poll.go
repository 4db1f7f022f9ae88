package demo

import "slices"

// poll draws the ballots of one proposal. Each is a function of its number alone,
// so that none has to be remembered.
type poll struct {
	p *proposal
	d dice
	// Lines are the votes of unique voters, recasts by recasting of them and exact
	// repeats of lines already written.
	unique, recasts, repeats int
	choices                  int
	// favour holds how popular each choice is, as shares of their sum.
	favour [maxChoices]int
	// stride steps through the voters so that their order looks like chance.
	stride uint64
	// from and to bound the times of ballots.
	from, to int64
	undated  bool
	dayOnly  bool
	// delegate says that the most active voter takes the first seat.
	delegate bool
	reasons  int

	ballotKey, recastKey, voterKey, holdingKey uint64
}

func (g *generator) newPoll(p *proposal) *poll {
	d := g.dice
	d.seed(keyOf(p.key, forPoll))
	poll := &poll{
		p: p, d: d, unique: p.ballots, choices: len(p.subject.choices),
		from: p.start, to: min(p.lastVote(), g.now),
		undated: p.odd(everyUndated) && !p.onChain, dayOnly: p.odd(everyDated) && !p.onChain,
		reasons:   len(g.words.reasons),
		ballotKey: keyOf(p.key, forBallots), recastKey: keyOf(p.key, forRecasts),
		voterKey: keyOf(g.options.Seed, forVoter), holdingKey: keyOf(p.dao.key, forHoldings),
	}
	if p.ballots >= 10 {
		poll.repeats = p.ballots/250 + p.serial%2
	}
	if p.ballots >= 10 && !p.onChain {
		poll.recasts = p.ballots/50 + p.serial%3
	}
	poll.unique -= poll.recasts + poll.repeats
	poll.stride = strideOf(poll.unique)
	poll.drawFavour()
	if p.dao.index < delegateDAOs && p.dao.delegated < delegateVotes && p.ballots > 0 && !p.missing {
		poll.delegate = true
		p.dao.delegated++
	}
	return poll
}

// strideOf returns a number near n × 0.618 that has no factor in common with n.
func strideOf(n int) uint64 {
	if n < 3 {
		return 1
	}
	stride := natural(n) * 618 / 1000
	for gcd(stride, natural(n)) != 1 {
		stride++
	}
	return stride
}

func gcd(a, b uint64) uint64 {
	for b > 0 {
		a, b = b, a%b
	}
	return a
}

// drawFavour draws how popular each choice is. Most proposals are carried clearly.
func (v *poll) drawFavour() {
	if v.p.subject.family.shape != yesOrNo {
		for i := range v.choices {
			v.favour[i] = v.d.between(4, 40)
		}
		return
	}
	v.favour[0] = v.d.between(78, 97)
	switch {
	case v.p.odd(everyClose):
		v.favour[0] = v.d.between(46, 54)
	case v.p.odd(everyOpposed):
		v.favour[0] = v.d.between(12, 35)
	}
	v.favour[1] = 100 - v.favour[0]
	if v.choices > 2 {
		v.favour[2] = v.d.between(1, 9)
	}
}

// ballot returns the ballot of the i-th voter, in the order of time.
func (v *poll) ballot(i int) ballot {
	v.d.seed(v.ballotKey, i)
	var b ballot
	b.id = drawHash(v.d)
	rank := v.rank(natural(i) * v.stride % natural(v.unique))
	b.voter = addressOf(v.voterKey, v.voter(i, rank))
	b.lower = v.p.onChain || v.d.roll(12)
	v.date(&b, v.castAt(i))
	v.fill(&b)
	b.reason = v.drawReason()
	b.power = v.holding(rank, b.voter)
	return b
}

// recast returns what the i-th voter casts after the first ballot: another choice,
// mostly with the same power.
func (v *poll) recast(i int, first *ballot) ballot {
	v.d.seed(v.recastKey, i)
	again := *first
	again.id = drawHash(v.d)
	again.lower = !first.lower
	at := max(first.at, v.from) + minute
	v.date(&again, at+v.d.Int64N(max(v.to-at, 1)))
	again.weights = [maxChoices]int{}
	v.fill(&again)
	if v.p.subject.kind.single() && again.picks[0] == first.picks[0] {
		again.picks[0] = (first.picks[0] + 1) % v.choices
	}
	if v.d.roll(4) {
		again.power = v.drawPower(1000)
	}
	again.reason = v.drawReason()
	return again
}

// recastAt says whether the i-th voter votes again.
func (v *poll) recastAt(i int) bool {
	return v.recasts > 0 && i == evenly(i*v.recasts/v.unique, v.recasts, v.unique)
}

// evenly returns the i-th of n places spread over the numbers below whole.
func evenly(i, n, whole int) int {
	return (2*i + 1) * whole / (2 * n)
}

// rank returns the rank of the voter in a seat. Each seat draws from a stretch of
// ranks of its own, the first from the shortest: the lower a rank, the more often
// it votes, and nobody votes twice.
func (v *poll) rank(seat uint64) uint64 {
	from := v.firstRank(seat)
	if seat == 0 && v.delegate {
		return from
	}
	return from + v.d.Uint64N(v.firstRank(seat+1)-from)
}

// firstRank rises with the third power of the seat, which makes the activity of
// voters follow a power law.
func (v *poll) firstRank(seat uint64) uint64 {
	seats := natural(v.unique)
	outer := 40 + 5*min(seats, 4000)
	return seat*v.p.dao.turnout + mulDiv(mulDiv(mulDiv(outer, seat, seats), seat, seats), seat, seats)
}

// voter returns who holds a rank; the delegate is the voter of the first seat.
func (v *poll) voter(i int, rank uint64) voterID {
	if v.delegate && i == 0 {
		return theDelegate
	}
	return v.p.dao.member(rank)
}

// castAt returns when the i-th ballot is cast: many at the beginning, fewer later.
func (v *poll) castAt(i int) int64 {
	span := int(max(v.to-v.from-4*minute, 1))
	done := portion(portion(span, i, v.unique), i, v.unique)
	return v.from + int64(min(done+v.d.IntN(span/v.unique+2*minute), span))
}

// date puts a time on a ballot, as exactly as the proposal's ballots have one.
func (v *poll) date(b *ballot, at int64) {
	switch {
	case v.undated || !v.p.largest && v.d.roll(2000):
		b.at, b.dayOnly = 0, false
	case v.dayOnly:
		b.at, b.dayOnly = at-at%day, true
	default:
		b.at = at
	}
}

// fill draws a choice.
func (v *poll) fill(b *ballot) {
	b.size = 0
	switch v.p.subject.kind {
	case singleChoice, basic:
		b.add(v.favourite())
	case approval:
		if !v.d.roll(150) {
			v.fillSome(b, min(v.d.heavy(1), v.choices))
			slices.Sort(b.picks[:b.size])
		}
	case rankedChoice, copeland:
		ranked := v.choices
		if v.d.roll(4) {
			ranked = v.d.between(1, v.choices)
		}
		v.fillSome(b, ranked)
		others := b.picks[1:b.size]
		v.d.Shuffle(len(others), func(i, j int) { others[i], others[j] = others[j], others[i] })
	case weighted, quadratic:
		if !v.d.roll(150) {
			v.fillSome(b, min(v.d.heavy(1), v.choices))
			v.weigh(b)
		}
	}
}

func (b *ballot) add(choice int) {
	b.picks[b.size] = choice
	b.size++
}

// fillSome picks a number of different choices, a popular one first.
func (v *poll) fillSome(b *ballot, wanted int) {
	b.add(v.favourite())
	start := v.d.IntN(v.choices)
	for i := 0; b.size < wanted; i++ {
		choice := (start + i) % v.choices
		if !slices.Contains(b.picks[:b.size], choice) {
			b.add(choice)
		}
	}
}

// weigh divides a ballot's power over its choices: evenly, roughly or to the percent.
func (v *poll) weigh(b *ballot) {
	slices.Sort(b.picks[:b.size])
	most := pick(v.d, []int{1, 4, 100})
	for i := range b.size {
		b.weights[i] = v.d.between(1, most)
	}
}

// favourite draws a choice by popularity.
func (v *poll) favourite() int {
	total := 0
	for _, share := range v.favour[:v.choices] {
		total += share
	}
	roll := v.d.IntN(total)
	for choice, share := range v.favour[:v.choices] {
		if roll < share {
			return choice
		}
		roll -= share
	}
	return 0
}

// holding returns the power of a voter in the DAO, which changes only once in a
// while.
func (v *poll) holding(rank uint64, voter address) power {
	const steady = 16 // proposals at least between two changes
	v.d.seed(keyOf(v.holdingKey, voter.upper, natural(v.p.index/steady)&voter.upper))
	return v.drawPower(rank)
}

func (v *poll) drawPower(rank uint64) power {
	if v.p.dao.memberships {
		return drawMembership(v.d)
	}
	return drawPower(v.d, rank)
}

func (v *poll) drawReason() int {
	switch roll := v.d.IntN(100); {
	case roll < 4:
		return v.d.IntN(v.reasons)
	case roll < 12:
		return emptyReason
	}
	return noReason
}
