package demo

import "fmt"

// Rhythms: every so-manieth proposal, counted over all DAOs, has this oddity. They
// are fixed rather than drawn so that a small data set has each of them too.
const (
	everyQuiet  = 40 // nobody has voted, and upstream says so
	everyUnheld = 41 // upstream states ballots that the files do not hold
)

// waitingBallots is how many ballots name a proposal that no file holds.
const waitingBallots = 5

// stage is where a proposal stands at Options.Now.
type stage uint8

const (
	closed stage = iota
	active
	pending
)

// slot is what the plan says of one proposal.
type slot struct {
	// serial counts the proposals of all DAOs.
	serial int
	// index counts those of the DAO, oldest first.
	index int
	stage stage
	// newer is how many of the DAO are newer and at the same stage.
	newer   int
	largest bool
	// missing says that only ballots are written, and no proposal.
	missing bool
	// ballots is how many lines of ballots there are, recasts and repeats included.
	ballots int
}

// quiet says whether nobody has voted although the vote was open.
func (s slot) quiet() bool {
	return !s.largest && s.serial%everyQuiet == everyQuiet-1
}

// unheld says whether the ballots are missing.
func (s slot) unheld() bool {
	return !s.largest && s.stage == closed && s.serial%everyUnheld == everyUnheld-1
}

// votable says whether the plan may give the proposal ballots.
func (s slot) votable() bool {
	return s.stage != pending && !s.quiet() && !s.unheld()
}

// plan divides the proposals among the DAOs and the ballots among the proposals.
type plan struct {
	// proposals holds how many each DAO has.
	proposals []int
	// ballots holds how many each proposal has, by serial.
	ballots []int
	// largest is the serial of the largest proposal.
	largest int
	// waiting is how many ballots are left for proposals that do not exist.
	waiting int
}

func newPlan(o Options, d dice) (*plan, error) {
	p := &plan{
		proposals: divideProposals(o.Proposals, o.DAOs),
		ballots:   make([]int, o.Proposals),
		waiting:   min(waitingBallots, (o.Ballots-o.Largest)/20),
	}
	p.largest = largestIn(p.proposals[0])
	p.ballots[p.largest] = o.Largest
	d.seed(keyOf(o.Seed, forPlan))
	if err := p.divideBallots(o.Ballots-o.Largest-p.waiting, max(o.Largest-1, 0), d); err != nil {
		return nil, err
	}
	return p, nil
}

// slot returns what is planned for a proposal of a DAO.
func (p *plan) slot(dao, serial, index int) slot {
	s := slot{serial: serial, index: index, ballots: p.ballots[serial], largest: serial == p.largest}
	upcoming, open := newest(dao, p.proposals[dao])
	newer := p.proposals[dao] - 1 - index
	switch {
	case newer >= upcoming+open || s.largest:
		s.stage, s.newer = closed, max(newer-upcoming-open, 0)
	case newer >= upcoming:
		s.stage, s.newer = active, newer-upcoming
	default:
		s.stage, s.newer = pending, newer
	}
	return s
}

// newest says how many of a DAO's newest proposals are about to open, and how many
// before them are open.
func newest(dao, proposals int) (upcoming, open int) {
	if proposals < 3 {
		if dao%5 == 0 {
			return 0, 1
		}
		return 0, 0
	}
	return (dao + 1) % 2, []int{2, 1, 1, 0}[dao%4]
}

// largestIn returns the index of the largest proposal in the first DAO: a recent
// one, old enough to be closed and not one of those voted on chain.
func largestIn(siblings int) int {
	return max(siblings-6, 0) / 3 * 3
}

// divideProposals gives every DAO one proposal and the rest by Zipf's law.
func divideProposals(proposals, daos int) []int {
	const scale = 1 << 30
	total := 0
	for dao := range daos {
		total += scale / (dao + 2)
	}
	counts := make([]int, daos)
	sum, given := 0, 0
	for dao := range counts {
		sum += scale / (dao + 2)
		upTo := portion(proposals-daos, sum, total)
		counts[dao] = 1 + upTo - given
		given = upTo
	}
	return counts
}

// divideBallots gives ballots to all votable proposals but the largest, at most
// limit to each: a modest number to most, and what is left over to a few.
func (p *plan) divideBallots(ballots, limit int, d dice) error {
	weights := make([]int, len(p.ballots))
	room := 0
	p.votable(func(serial, dao int) {
		p.ballots[serial] = min(4+2*d.heavy(2), limit)
		weights[serial] = p.tailWeight(d, dao)
		room += limit
	})
	if ballots > room {
		return fmt.Errorf("--ballots leaves %d for all proposals but the largest, "+
			"more than the %d that --proposals and --largest have room for", ballots, room)
	}
	p.fit(ballots, weights, limit)
	return nil
}

// votable calls visit for every proposal that takes a share of the ballots.
func (p *plan) votable(visit func(serial, dao int)) {
	serial := 0
	for dao, siblings := range p.proposals {
		for index := range siblings {
			if s := p.slot(dao, serial, index); s.votable() && !s.largest {
				visit(serial, dao)
			}
			serial++
		}
	}
}

// tailWeight draws a proposal's claim on what is left over: nothing for three in
// four, and more where the DAO is large.
func (p *plan) tailWeight(d dice, dao int) int {
	if !d.roll(4) {
		return 0
	}
	return d.heavy(7) * min(p.proposals[dao], 64)
}

// fit makes the numbers of all proposals but the largest sum to ballots exactly.
func (p *plan) fit(ballots int, weights []int, limit int) {
	held := -p.ballots[p.largest]
	for _, n := range p.ballots {
		held += n
	}
	if held > ballots {
		p.shrink(ballots, held)
		return
	}
	// The tail stays well below the largest proposal as long as there is room.
	rest := p.spread(ballots-held, weights, limit/2)
	p.votable(func(serial, _ int) { weights[serial] = limit - p.ballots[serial] })
	p.spread(rest, weights, limit)
}

// shrink scales the numbers of all proposals but the largest from held down to
// ballots.
func (p *plan) shrink(ballots, held int) {
	sum, given := 0, 0
	for serial, n := range p.ballots {
		if serial == p.largest {
			continue
		}
		sum += n
		upTo := portion(ballots, sum, held)
		p.ballots[serial] = upTo - given
		given = upTo
	}
}

// spread adds ballots in proportion to weights, no proposal going over limit. It
// returns what found no room.
func (p *plan) spread(ballots int, weights []int, limit int) (rest int) {
	for ballots > 0 {
		total := 0
		for serial, weight := range weights {
			if p.ballots[serial] >= limit {
				weights[serial], weight = 0, 0
			}
			total += weight
		}
		if total == 0 {
			break
		}
		ballots = p.share(ballots, weights, total, limit)
	}
	return ballots
}

// share adds ballots in proportion to weights once.
func (p *plan) share(ballots int, weights []int, total, limit int) (rest int) {
	sum, given := 0, 0
	for serial, weight := range weights {
		if weight == 0 {
			continue
		}
		sum += weight
		upTo := portion(ballots, sum, total)
		share := min(upTo-given, limit-p.ballots[serial])
		p.ballots[serial] += share
		rest += upTo - given - share
		given = upTo
	}
	return rest
}
