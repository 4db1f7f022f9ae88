package demo

import "fmt"

// Periods of defects: one proposal in so many, counted over all DAOs, has the
// defect. They are periodic instead of random so that a small data set has each.
const (
	noVotesPeriod        = 40 // nobody has voted, and upstream states 0 votes
	missingBallotsPeriod = 41 // upstream states votes whose ballots no file contains
)

// waitingBallots is the number of ballots whose proposal no file contains.
const waitingBallots = 5

type voteState uint8

const (
	closed voteState = iota
	active
	pending
)

// String returns the state as Snapshot and Tally spell it.
func (s voteState) String() string {
	return [...]string{closed: "closed", active: "active", pending: "pending"}[s]
}

type proposalPlan struct {
	// serial numbers the proposals of all DAOs.
	serial int
	// index numbers the proposals of the DAO, oldest first.
	index int
	state voteState
	// newer is the number of newer proposals of the DAO in the same state.
	newer int
	// largest is true for the proposal with Options.Largest ballots.
	largest bool
	// ballotsOnly is true if ballots are written but no proposal.
	ballotsOnly bool
	// ballots is the number of ballot lines, recasts and repeats included.
	ballots int
}

// hasNoVotes reports whether nobody voted although voting was open.
func (p proposalPlan) hasNoVotes() bool {
	return !p.largest && p.serial%noVotesPeriod == noVotesPeriod-1
}

// lacksBallots reports whether upstream states votes but no file has the ballots.
func (p proposalPlan) lacksBallots() bool {
	return !p.largest && p.state == closed &&
		p.serial%missingBallotsPeriod == missingBallotsPeriod-1
}

func (p proposalPlan) takesBallots() bool {
	return p.state != pending && !p.hasNoVotes() && !p.lacksBallots()
}

// plan distributes the proposals over the DAOs and the ballots over the proposals.
type plan struct {
	proposalsPerDAO []int
	// ballotsPerProposal is indexed by serial number.
	ballotsPerProposal []int
	// largest is the serial number of the largest proposal.
	largest int
	// waiting is the number of ballots on proposals that do not exist.
	waiting int
}

// newPlan returns the plan for options. The error is that Ballots exceeds what the
// proposals can take.
func newPlan(o Options, rng random) (*plan, error) {
	p := &plan{
		proposalsPerDAO:    distributeProposals(o.Proposals, o.DAOs),
		ballotsPerProposal: make([]int, o.Proposals),
		waiting:            min(waitingBallots, (o.Ballots-o.Largest)/20),
	}
	p.largest = largestIndex(p.proposalsPerDAO[0])
	p.ballotsPerProposal[p.largest] = o.Largest
	rng.seed(deriveKey(o.Seed, streamPlan))
	ballots, limit := o.Ballots-o.Largest-p.waiting, max(o.Largest-1, 0)
	if err := p.distributeBallots(ballots, limit, rng); err != nil {
		return nil, err
	}
	return p, nil
}

func (p *plan) proposalAt(dao, serial, index int) proposalPlan {
	planned := proposalPlan{
		serial: serial, index: index,
		ballots: p.ballotsPerProposal[serial], largest: serial == p.largest,
	}
	upcoming, open := upcomingAndOpen(dao, p.proposalsPerDAO[dao])
	newer := p.proposalsPerDAO[dao] - 1 - index
	switch {
	case newer >= upcoming+open || planned.largest:
		planned.state, planned.newer = closed, max(newer-upcoming-open, 0)
	case newer >= upcoming:
		planned.state, planned.newer = active, newer-upcoming
	default:
		planned.state, planned.newer = pending, newer
	}
	return planned
}

// upcomingAndOpen returns how many of a DAO's newest proposals are pending, and how
// many of those before them are active.
func upcomingAndOpen(dao, proposals int) (upcoming, open int) {
	if proposals < 3 {
		if dao%5 == 0 {
			return 0, 1
		}
		return 0, 0
	}
	return (dao + 1) % 2, []int{2, 1, 1, 0}[dao%4]
}

// largestIndex returns the index of the largest proposal in the first DAO: a recent
// one that is closed and not voted on chain.
func largestIndex(proposals int) int {
	return max(proposals-6, 0) / 3 * 3
}

// distributeProposals gives every DAO one proposal and distributes the rest by Zipf's
// law.
func distributeProposals(proposals, daos int) []int {
	const scale = 1 << 30
	total := 0
	for dao := range daos {
		total += scale / (dao + 2)
	}
	counts := make([]int, daos)
	sum, given := 0, 0
	for dao := range counts {
		sum += scale / (dao + 2)
		upTo := proportion(proposals-daos, sum, total)
		counts[dao] = 1 + upTo - given
		given = upTo
	}
	return counts
}

// distributeBallots distributes ballots over all proposals but the largest, at most
// limit to each: a small number to every proposal, the remainder to a few.
func (p *plan) distributeBallots(ballots, limit int, rng random) error {
	weights := make([]int, len(p.ballotsPerProposal))
	capacity := 0
	p.visitRecipients(func(serial, dao int) {
		p.ballotsPerProposal[serial] = min(4+2*rng.heavyTailed(2), limit)
		weights[serial] = p.tailWeight(rng, dao)
		capacity += limit
	})
	if ballots > capacity {
		return fmt.Errorf("--ballots leaves %d for all proposals but the largest, "+
			"more than the %d that --proposals and --largest have room for", ballots, capacity)
	}
	p.scaleTo(ballots, weights, limit)
	return nil
}

// visitRecipients calls visit for every proposal that takes ballots, except the
// largest.
func (p *plan) visitRecipients(visit func(serial, dao int)) {
	serial := 0
	for dao, proposals := range p.proposalsPerDAO {
		for index := range proposals {
			if planned := p.proposalAt(dao, serial, index); planned.takesBallots() && !planned.largest {
				visit(serial, dao)
			}
			serial++
		}
	}
}

// tailWeight draws a proposal's weight in the distribution of the remainder: zero for
// three in four, and more in a large DAO.
func (p *plan) tailWeight(rng random, dao int) int {
	if !rng.oneIn(4) {
		return 0
	}
	return rng.heavyTailed(7) * min(p.proposalsPerDAO[dao], 64)
}

// scaleTo adjusts the numbers of all proposals but the largest so that they sum to
// ballots.
func (p *plan) scaleTo(ballots int, weights []int, limit int) {
	sum := -p.ballotsPerProposal[p.largest]
	for _, n := range p.ballotsPerProposal {
		sum += n
	}
	if sum > ballots {
		p.scaleDown(ballots, sum)
		return
	}
	// The tail stays well below the largest proposal while there is room.
	rest := p.addByWeight(ballots-sum, weights, limit/2)
	p.visitRecipients(func(serial, _ int) {
		weights[serial] = limit - p.ballotsPerProposal[serial]
	})
	p.addByWeight(rest, weights, limit)
}

// scaleDown scales the numbers of all proposals but the largest from sum to ballots.
func (p *plan) scaleDown(ballots, sum int) {
	seen, given := 0, 0
	for serial, n := range p.ballotsPerProposal {
		if serial == p.largest {
			continue
		}
		seen += n
		upTo := proportion(ballots, seen, sum)
		p.ballotsPerProposal[serial] = upTo - given
		given = upTo
	}
}

// addByWeight distributes ballots in proportion to weights until none are left or
// every proposal has reached limit. It returns the number left.
func (p *plan) addByWeight(ballots int, weights []int, limit int) (rest int) {
	for ballots > 0 {
		total := 0
		for serial, weight := range weights {
			if p.ballotsPerProposal[serial] >= limit {
				weights[serial], weight = 0, 0
			}
			total += weight
		}
		if total == 0 {
			break
		}
		ballots = p.addByWeightOnce(ballots, weights, total, limit)
	}
	return ballots
}

// addByWeightOnce makes one pass of addByWeight. It returns what exceeded limit.
func (p *plan) addByWeightOnce(ballots int, weights []int, total, limit int) (rest int) {
	sum, given := 0, 0
	for serial, weight := range weights {
		if weight == 0 {
			continue
		}
		sum += weight
		upTo := proportion(ballots, sum, total)
		share := min(upTo-given, limit-p.ballotsPerProposal[serial])
		p.ballotsPerProposal[serial] += share
		rest += upTo - given - share
		given = upTo
	}
	return rest
}
