package demo

import "slices"

// ballotGenerator draws the ballots of one proposal. Each ballot is a function of its
// number, so none has to stay in memory.
type ballotGenerator struct {
	proposal *proposal
	rng      random
	// voters is the number of different voters. recasts of them vote twice, and
	// repeats lines repeat an earlier line exactly.
	voters, recasts, repeats int
	choices                  int
	// popularity holds the weight of each choice.
	popularity [maxChoices]int
	// stride maps the time order of voters to their rank order. It is coprime to
	// voters, so the map is a permutation.
	stride uint64
	// from and to bound the times of ballots, in Unix seconds.
	from, to int64
	// undated is true if no ballot has a time, dayOnly if ballots have days only.
	undated, dayOnly bool
	// hasDelegate is true if the first voter is the delegate.
	hasDelegate bool
	// reasonCount is the number of texts.reasons.
	reasonCount int

	ballotKey, recastKey, voterKey, powerKey uint64
}

func (g *generator) newBallotGenerator(p *proposal) *ballotGenerator {
	rng := g.rng
	rng.seed(deriveKey(p.key, streamVoting))
	b := &ballotGenerator{
		proposal:    p,
		rng:         rng,
		voters:      p.ballots,
		choices:     len(p.content.choices),
		from:        p.start,
		to:          min(p.votingEnd(), g.now),
		undated:     p.isNth(undatedBallotsPeriod) && !p.onChain,
		dayOnly:     p.isNth(dayOnlyBallotsPeriod) && !p.onChain,
		reasonCount: len(g.texts.reasons),
		ballotKey:   deriveKey(p.key, streamBallots),
		recastKey:   deriveKey(p.key, streamRecasts),
		voterKey:    deriveKey(g.options.Seed, streamVoter),
		powerKey:    deriveKey(p.dao.key, streamPower),
	}
	if p.ballots >= 10 {
		b.repeats = p.ballots/250 + p.serial%2
	}
	if p.ballots >= 10 && !p.onChain {
		b.recasts = p.ballots/50 + p.serial%3
	}
	b.voters -= b.recasts + b.repeats
	b.stride = strideOf(b.voters)
	b.drawPopularity()
	if p.dao.index < maxDelegateDAOs && p.dao.delegateBallots < maxDelegateVotes &&
		p.ballots > 0 && !p.ballotsOnly {
		b.hasDelegate = true
		p.dao.delegateBallots++
	}
	return b
}

// strideOf returns a number near 0.618 n that is coprime to n.
func strideOf(n int) uint64 {
	if n < 3 {
		return 1
	}
	stride := unsigned(n) * 618 / 1000
	for gcd(stride, unsigned(n)) != 1 {
		stride++
	}
	return stride
}

// gcd returns the greatest common divisor.
func gcd(a, b uint64) uint64 {
	for b > 0 {
		a, b = b, a%b
	}
	return a
}

// drawPopularity draws the weight of each choice. Most yes-or-no votes pass clearly.
func (g *ballotGenerator) drawPopularity() {
	if g.proposal.content.template.Question != yesOrNo {
		for i := range g.choices {
			g.popularity[i] = g.rng.between(4, 40)
		}
		return
	}
	g.popularity[0] = g.rng.between(78, 97)
	switch {
	case g.proposal.isNth(closeContestPeriod):
		g.popularity[0] = g.rng.between(46, 54)
	case g.proposal.isNth(rejectedPeriod):
		g.popularity[0] = g.rng.between(12, 35)
	}
	g.popularity[1] = 100 - g.popularity[0]
	if g.choices > 2 {
		g.popularity[2] = g.rng.between(1, 9)
	}
}

func (g *ballotGenerator) ballot(i int) ballot {
	g.rng.seed(g.ballotKey, i)
	var b ballot
	b.id = drawHash(g.rng)
	rank := g.drawRank(unsigned(i) * g.stride % unsigned(g.voters))
	b.voter = addressOf(g.voterKey, g.voterAt(i, rank))
	b.lowerCase = g.proposal.onChain || g.rng.oneIn(12)
	g.setTime(&b, g.drawTime(i))
	g.drawChoices(&b)
	b.reason = g.drawReason()
	b.power = g.votingPower(rank, b.voter)
	return b
}

// recast returns the second ballot of the i-th voter: another choice, in three of
// four cases with the same power.
func (g *ballotGenerator) recast(i int, first *ballot) ballot {
	g.rng.seed(g.recastKey, i)
	again := *first
	again.id = drawHash(g.rng)
	again.lowerCase = !first.lowerCase
	at := max(first.at, g.from) + minute
	g.setTime(&again, at+g.rng.Int64N(max(g.to-at, 1)))
	again.weights = [maxChoices]int{}
	g.drawChoices(&again)
	if g.proposal.content.voteType.namesOneChoice() && again.choices[0] == first.choices[0] {
		again.choices[0] = (first.choices[0] + 1) % g.choices
	}
	if g.rng.oneIn(4) {
		again.power = g.drawPower(1000)
	}
	again.reason = g.drawReason()
	return again
}

func (g *ballotGenerator) votesAgain(i int) bool {
	return g.recasts > 0 && i == evenly(i*g.recasts/g.voters, g.recasts, g.voters)
}

// evenly returns the i-th of n positions spread evenly over 0 to whole−1.
func evenly(i, n, whole int) int {
	return (2*i + 1) * whole / (2 * n)
}

// drawRank draws the rank of the n-th most active voter of this proposal. Each voter
// draws from a range of ranks of its own, so nobody votes twice. Low ranks have short
// ranges and therefore vote more often.
func (g *ballotGenerator) drawRank(n uint64) uint64 {
	from := g.firstRank(n)
	if n == 0 && g.hasDelegate {
		return from
	}
	return from + g.rng.Uint64N(g.firstRank(n+1)-from)
}

// firstRank returns where the range of the n-th most active voter begins. It grows
// with the third power of n, so that the activity of voters follows a power law.
func (g *ballotGenerator) firstRank(n uint64) uint64 {
	voters := unsigned(g.voters)
	outer := 40 + 5*min(voters, 4000)
	cubic := mulDiv(mulDiv(mulDiv(outer, n, voters), n, voters), n, voters)
	return n*g.proposal.dao.minRankStep + cubic
}

func (g *ballotGenerator) voterAt(i int, rank uint64) voterID {
	if g.hasDelegate && i == 0 {
		return delegateID
	}
	return g.proposal.dao.member(rank)
}

// drawTime draws the time of the i-th ballot. Ballots become rarer over time.
func (g *ballotGenerator) drawTime(i int) int64 {
	span := int(max(g.to-g.from-4*minute, 1))
	elapsed := proportion(proportion(span, i, g.voters), i, g.voters)
	return g.from + int64(min(elapsed+g.rng.IntN(span/g.voters+2*minute), span))
}

// setTime sets the time of a ballot with the precision of the proposal's ballots.
func (g *ballotGenerator) setTime(b *ballot, at int64) {
	switch {
	case g.undated || !g.proposal.largest && g.rng.oneIn(2000):
		b.at, b.dayOnly = 0, false
	case g.dayOnly:
		b.at, b.dayOnly = at-at%day, true
	default:
		b.at = at
	}
}

// drawChoices draws the choices of a ballot, and weights if the vote type has them. A
// few approval and weighted ballots are empty.
func (g *ballotGenerator) drawChoices(b *ballot) {
	b.choiceCount = 0
	switch g.proposal.content.voteType {
	case singleChoice, basic:
		b.add(g.drawPopular())
	case approval:
		if !g.rng.oneIn(150) {
			g.drawDistinct(b, min(g.rng.heavyTailed(1), g.choices))
			slices.Sort(b.choices[:b.choiceCount])
		}
	case rankedChoice, copeland:
		ranked := g.choices
		if g.rng.oneIn(4) {
			ranked = g.rng.between(1, g.choices)
		}
		g.drawDistinct(b, ranked)
		others := b.choices[1:b.choiceCount]
		g.rng.Shuffle(len(others), func(i, j int) { others[i], others[j] = others[j], others[i] })
	case weighted, quadratic:
		if !g.rng.oneIn(150) {
			g.drawDistinct(b, min(g.rng.heavyTailed(1), g.choices))
			g.drawWeights(b)
		}
	}
}

func (b *ballot) add(choice int) {
	b.choices[b.choiceCount] = choice
	b.choiceCount++
}

// drawDistinct draws a number of different choices, a popular one first.
func (g *ballotGenerator) drawDistinct(b *ballot, wanted int) {
	b.add(g.drawPopular())
	start := g.rng.IntN(g.choices)
	for i := 0; b.choiceCount < wanted; i++ {
		choice := (start + i) % g.choices
		if !slices.Contains(b.choices[:b.choiceCount], choice) {
			b.add(choice)
		}
	}
}

// drawWeights draws the weights of a ballot's choices: all equal, from 1 to 4, or from
// 1 to 100.
func (g *ballotGenerator) drawWeights(b *ballot) {
	slices.Sort(b.choices[:b.choiceCount])
	limit := pick(g.rng, []int{1, 4, 100})
	for i := range b.choiceCount {
		b.weights[i] = g.rng.between(1, limit)
	}
}

func (g *ballotGenerator) drawPopular() int {
	total := 0
	for _, weight := range g.popularity[:g.choices] {
		total += weight
	}
	n := g.rng.IntN(total)
	for choice, weight := range g.popularity[:g.choices] {
		if n < weight {
			return choice
		}
		n -= weight
	}
	return 0
}

// votingPower returns the power of a voter in the DAO. It changes at most once in 16
// proposals.
func (g *ballotGenerator) votingPower(rank uint64, voter address) power {
	const steady = 16
	period := unsigned(g.proposal.index / steady)
	g.rng.seed(deriveKey(g.powerKey, voter.upper, period&voter.upper))
	return g.drawPower(rank)
}

func (g *ballotGenerator) drawPower(rank uint64) power {
	if g.proposal.dao.memberships {
		return power{amount: amount{whole: unsigned(min(g.rng.heavyTailed(3), 20))}} // 1 to 20
	}
	return drawPower(g.rng, rank)
}

// drawReason draws a value of ballot.reason: 4 % have a text, 8 % an empty one.
func (g *ballotGenerator) drawReason() int {
	switch n := g.rng.IntN(100); {
	case n < 4:
		return g.rng.IntN(g.reasonCount)
	case n < 12:
		return emptyReason
	}
	return noReason
}
