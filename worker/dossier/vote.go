package dossier

import (
	"cmp"
	"math"
	"slices"
	"sync"

	"github.com/shopspring/decimal"

	"pnyx/governance"
	"pnyx/governance/rules"
	"pnyx/warehouse"
	"pnyx/warehouse/pages"
)

func (c *composer) vote() {
	byVoter := c.Ballots
	var sorting sync.WaitGroup
	sorting.Go(func() { c.byPower = byPower(byVoter) })
	c.Ballots = byTime(byVoter)
	sorting.Wait()
	c.race = raceOf(c)
	c.decide()
	c.participate()
	c.concentrate()
	c.run()
	c.rankVoters()
}

// orFirst returns a time by which what has none comes first.
func orFirst(at *governance.Timestamp) governance.Timestamp {
	if at == nil {
		return math.MinInt64
	}
	return *at
}

func supported(b pages.CountedBallot) []string {
	if b.Invalid {
		return nil
	}
	return b.Choices
}

// whole reports whether every ballot is stored, as far as is known: of a part, no share and no course is told.
func (f *Facts) whole() bool { return len(f.Ballots) > 0 && !rules.LackBallots(f.Quality) }

// dated reports whether the time of every ballot is known to the second.
func (f *Facts) dated() bool {
	return len(f.Ballots) > 0 && !slices.ContainsFunc(f.Ballots, func(b pages.CountedBallot) bool { return b.VotedAt == nil || b.VotedDayOnly })
}

func (f *Facts) single() bool {
	return slices.Contains([]governance.VoteType{"", governance.SingleChoice, governance.Basic}, f.Proposal.VoteType) &&
		!slices.ContainsFunc(f.Ballots, func(b pages.CountedBallot) bool { return len(supported(b)) > 1 })
}

// adds reports whether scores are the sums of what ballots give to choices, so that some of the ballots have a leader.
func (f *Facts) adds() bool {
	return f.single() || f.Proposal.VoteType == governance.Approval || f.Proposal.VoteType == governance.Weighted
}

// contenders returns the choices that can win, in order of their power, with what each stands for: all but abstentions.
func (f *Facts) contenders() (choices []governance.ChoiceTotal, verdicts []governance.Verdict) {
	all := strongestFirst(f.Votes.Choices)
	named := warehouse.Values(f.Votes.Choices, func(choice governance.ChoiceTotal) governance.Choice {
		return governance.Choice{Key: choice.Key, Label: choice.Label}
	})
	verdict := map[string]governance.Verdict{}
	for i, of := range governance.Verdicts(f.Proposal.VoteType, named) {
		verdict[named[i].Key] = of
	}
	for _, choice := range all {
		if of := verdict[choice.Key]; of != governance.Abstains {
			choices, verdicts = append(choices, choice), append(verdicts, of)
		}
	}
	return choices, verdicts
}

func (c *composer) decide() {
	d := &c.d.Decision
	d.VoteType, d.QuorumChoices = governance.OptionalText(string(c.Proposal.VoteType)), c.Proposal.CountedChoices()
	d.LifecycleStatus, d.Outcome = c.Detail.LifecycleStatus, c.Detail.Outcome
	c.addQuorum()
	choices := strongestFirst(c.Votes.Choices)
	if len(choices) < 2 || !powerOf(choices[0].VotingPower).IsPositive() {
		return
	}
	margin := powerOf(choices[0].VotingPower).Sub(powerOf(choices[1].VotingPower))
	d.MarginPower = decimalOf(margin)
	if c.Votes.Totals != nil {
		// Scores that are no sums can be above all power.
		d.MarginPercent = percent(margin, decimal.Max(powerOf(c.Votes.Totals.VotingPower), powerOf(choices[0].VotingPower)))
	}
	if margin.IsPositive() {
		choice := func(of governance.ChoiceTotal) *governance.DossierChoice {
			return &governance.DossierChoice{Key: of.Key, Label: of.Label, VotingPower: of.VotingPower}
		}
		d.Leader, d.RunnerUp = choice(choices[0]), choice(choices[1])
		if c.race != nil && c.race.leader != d.Leader.Key {
			c.race = nil // upstream states other scores than ballots come to
		}
		c.decideByBallots()
	}
}

func strongestFirst(choices []governance.ChoiceTotal) []governance.ChoiceTotal {
	return slices.SortedStableFunc(slices.Values(choices), func(a, b governance.ChoiceTotal) int {
		return powerOf(b.VotingPower).Cmp(powerOf(a.VotingPower))
	})
}

func (c *composer) decideByBallots() {
	d := &c.d.Decision
	undecided := d.LifecycleStatus == governance.Closed && c.Votes.Result == nil
	counted := c.Votes.Basis != nil && *c.Votes.Basis == governance.BallotsBasis && c.whole() && !undecided
	if !counted || !c.single() || !c.countDeciding() {
		c.unknown("missing_data", "by how many voters the vote was decided", "ballots are missing or not final, or can support several choices, or more than a lead decides",
			votesRoute(c.Detail.ProposalKey))
	}
	if !counted || c.race == nil {
		c.unknown("missing_data", "when the vote was decided", "ballots or their times are missing or not final, or rankings decide",
			votesRoute(c.Detail.ProposalKey))
		return
	}
	d.DecidedAt = c.race.since
}

// leadDecides reports whether the lead wins: not without the quorum, by a quorum of rejection, when canceled, or
// where more than a lead is needed.
func (c *composer) leadDecides(leads governance.Verdict) bool {
	if q := c.Votes.Quorum; q != nil && (q.Reached == nil || !*q.Reached) || c.Proposal.QuorumType == governance.QuorumOfRejection {
		return false
	}
	switch c.Detail.Outcome {
	case governance.Canceled:
		return false
	case governance.Failed:
		return leads != governance.Approves
	case governance.Passed, governance.Executed:
		return leads != governance.Rejects
	case governance.Unknown:
	}
	return true
}

// earlierPages is where ballots that are missing on earlier proposals can be seen.
const earlierPages = "the pages of the DAO's proposals at the provider"

func votesRoute(key governance.ProposalKey) string { return "/v2/proposals/" + string(key) + "/votes" }

// countDeciding counts the voters whose change of side would have changed the result: another choice leads, or none
// in a vote that a tie fails, or the quorum is missed, towards which only one of the two counts. It returns false
// where the lead does not decide.
func (c *composer) countDeciding() bool {
	d := &c.d.Decision
	choices, verdicts := c.contenders()
	if len(choices) < 2 {
		return false
	}
	first, second := choices[0], choices[1]
	margin := powerOf(first.VotingPower).Sub(powerOf(second.VotingPower))
	if !margin.IsPositive() || !c.leadDecides(verdicts[0]) {
		return false
	}
	tieFails := verdicts[0] == governance.Approves && verdicts[1] == governance.Rejects
	needed, moved, spare, movers := governance.UnitsOf(margin), governance.Units{}, decimal.Zero, 0
	q := d.Quorum
	losesQuorum := q != nil && c.countsForQuorum(first.Key) && !c.countsForQuorum(second.Key)
	if losesQuorum {
		spare = powerOf(q.Counted).Sub(powerOf(q.Needed))
	}
	for _, b := range c.byPower {
		if !slices.Equal(supported(b), []string{first.Key}) {
			continue
		}
		if movers++; movers == 1 {
			c.largestForLeader = b.Voter
		}
		moved = moved.Add(b.Power)
		order := moved.Add(moved).Cmp(needed)
		if order > 0 || order == 0 && tieFails || losesQuorum && moved.Decimal().GreaterThan(spare) {
			d.DecidingVoters = countOf(movers)
			break
		}
	}
	return true
}

type race struct {
	keys   []string
	powers []governance.Units // of keys
	// leader has the most power since a time; it is empty for a tie.
	leader string
	since  *governance.Timestamp
	// last is the last leader before a tie, changes counts how often another choice came to lead.
	last    string
	changes int
	// early and earlyLeader are powers and leader when the last tenth of the vote begins.
	early       []governance.Units
	earlyLeader string
}

// raceOf runs the race; nil unless all ballots and their times are known, and scores are sums.
func raceOf(c *composer) *race {
	if !c.whole() || !c.adds() || !c.dated() {
		return nil
	}
	r := &race{powers: make([]governance.Units, len(c.Votes.Choices))}
	for _, choice := range c.Votes.Choices {
		r.keys = append(r.keys, choice.Key)
	}
	early := 0
	if c.Detail.StartAt != nil && c.Detail.EndAt != nil {
		early = castBefore(c.Ballots, tenthOf(*c.Detail.StartAt, *c.Detail.EndAt, 9))
	}
	r.run(c.Ballots[:early])
	r.early, r.earlyLeader = slices.Clone(r.powers), r.leader
	r.run(c.Ballots[early:])
	return r
}

func (r *race) run(ballots []pages.CountedBallot) {
	for i := range ballots {
		b := &ballots[i]
		choices := supported(*b)
		for at, key := range choices {
			power := b.Power
			if len(b.Shares) == len(b.Choices) {
				power = b.Shares[at]
			}
			if place := slices.Index(r.keys, key); place >= 0 {
				r.powers[place] = r.powers[place].Add(power)
			}
		}
		if len(choices) == 1 && choices[0] == r.leader && len(b.Shares) == 0 {
			continue // the leader leads by more
		}
		leader := first(r.keys, r.powers)
		if leader != r.leader {
			r.leader, r.since = leader, b.VotedAt
		}
		if leader != "" && leader != r.last {
			if r.last != "" {
				r.changes++
			}
			r.last = leader
		}
	}
}

// first returns the choice with the most power; empty for a tie.
func first(keys []string, powers []governance.Units) string {
	leader, most := "", governance.Units{}
	for i, key := range keys {
		switch order := powers[i].Cmp(most); {
		case order > 0:
			leader, most = key, powers[i]
		case order == 0:
			leader = ""
		}
	}
	return leader
}

func (c *composer) countsForQuorum(key string) bool {
	return c.d.Decision.QuorumChoices == nil || slices.Contains(c.d.Decision.QuorumChoices, key)
}

func (c *composer) addQuorum() {
	needed := c.Proposal.NeededQuorum()
	if needed == nil || c.Votes.Quorum == nil || c.Votes.Totals == nil {
		return
	}
	counted := governance.QuorumPower(c.d.Decision.QuorumChoices, powerOf(c.Votes.Totals.VotingPower), func(key string) decimal.Decimal {
		for _, choice := range c.Votes.Choices {
			if choice.Key == key {
				return powerOf(choice.VotingPower)
			}
		}
		return decimal.Zero
	})
	c.d.Decision.Quorum = &governance.DossierQuorum{
		Type: c.Votes.Quorum.Type, Needed: governance.DecimalOf(*needed), Counted: governance.DecimalOf(counted), Reached: c.Votes.Quorum.Reached,
	}
	if c.Votes.Basis != nil && *c.Votes.Basis == governance.BallotsBasis && c.dated() && c.whole() && (c.d.Decision.QuorumChoices == nil || c.adds()) {
		c.meetQuorum(c.Proposal.QuorumType.Least(*needed), counted)
	}
}

// meetQuorum finds the ballot with which the quorum was met, and whether it would not have been met without it.
func (c *composer) meetQuorum(least, counted decimal.Decimal) {
	needed, sum := governance.UnitsOf(least), governance.Units{}
	for i := range c.Ballots {
		b, of := &c.Ballots[i], governance.Units{}
		if c.d.Decision.QuorumChoices == nil {
			of = b.Power
		} else {
			for at, key := range supported(*b) {
				switch {
				case !c.countsForQuorum(key):
				case len(b.Shares) == len(b.Choices):
					of = of.Add(b.Shares[at])
				default:
					of = b.Power
				}
			}
		}
		if sum = sum.Add(of); sum.Cmp(needed) >= 0 {
			c.d.Decision.Quorum.MetBy, c.metAlone = c.ballot(*b), counted.Sub(of.Decimal()).LessThan(least)
			return
		}
	}
}

func (c *composer) ballot(b pages.CountedBallot) *governance.DossierBallot {
	var share *governance.Decimal
	mayBeLeftOut := len(supported(b)) == 0 && c.Votes.Basis != nil && *c.Votes.Basis == governance.UpstreamBasis
	if c.Votes.Totals != nil && !mayBeLeftOut {
		share = percent(b.Power.Decimal(), powerOf(c.Votes.Totals.VotingPower))
	}
	return &governance.DossierBallot{
		VoterIdentity: b.Voter, ChoiceKeys: append([]string{}, supported(b)...), VotingPower: governance.DecimalOf(b.Power.Decimal()), SharePercent: share,
		VotedAt: b.VotedAt,
	}
}

func (c *composer) participate() {
	p := &c.d.Participation
	if c.Votes.Totals != nil {
		p.Voters, p.VotingPower = c.Votes.Totals.UniqueVoters, decimalOf(powerOf(c.Votes.Totals.VotingPower))
	}
	c.addDelegated()
	var voters []decimal.Decimal
	rank, isBound := 1, rules.AreLowerBounds(c.Quality)
	for _, k := range c.earlier {
		if !k.VoteReady || rules.AreLowerBounds(k.Quality) {
			continue
		}
		count := decimal.NewFromUint64(k.Votes)
		voters = append(voters, count)
		if p.Voters != nil && count.GreaterThan(powerOf(*p.Voters)) {
			rank++
		}
	}
	p.Compared = len(voters)
	switch p.MedianVoters = median(voters); {
	case p.Voters == nil:
	case isBound:
		c.unknown("missing_data", "the rank by voters", "ballots are missing", votesRoute(c.Detail.ProposalKey))
	default:
		p.Rank = &rank
	}
	// A ballot that is withdrawn while the records are read may be missing.
	cast, begins := uint64(len(c.Ballots)), c.Detail.StartAt
	switch {
	case rules.LackBallots(c.Quality), cast > 0 && (begins == nil || c.Returning > cast || c.lackBallots(math.MinInt64, *begins-1)):
		c.unknown("missing_data", "how many voters are new", "ballots here or on earlier proposals are missing, or the start is not known", earlierPages)
	case cast > 0:
		p.NewVoters = new(governance.CountOf(cast - c.Returning))
	}
}

func (c *composer) addDelegated() {
	p, of := &c.d.Participation, c.Delegated
	if of == nil || of.Supply == nil {
		c.unknown("state", "the supply of voting power at the snapshot", "the share of the supply that voted tells how representative the vote is",
			"the token's contract at the block of the snapshot")
	} else if p.VotingPower != nil {
		p.SupplyPercent = percent(powerOf(*p.VotingPower), *of.Supply)
	}
	if of == nil || !of.Power.IsPositive() || of.Differing+of.Undated > 0 || rules.LackBallots(c.Quality) {
		c.unknown("state", "the delegated power at the snapshot", "power that did not vote may vote against the next proposal",
			"the token's contract at the block of the snapshot")
		return
	}
	p.Delegated = &governance.DossierDelegated{
		Token: c.Proposal.VotingToken, VotingPower: governance.DecimalOf(of.Power), SilentDelegates: governance.CountOf(of.Silent),
		SilentPower: governance.DecimalOf(of.SilentPower), SilentPercent: percent(of.SilentPower, of.Power),
		GainedPower: governance.DecimalOf(of.Gained), LostPower: governance.DecimalOf(of.Lost),
	}
	if of.Supply != nil {
		p.Delegated.Supply = decimalOf(*of.Supply)
	}
}

func median(numbers []decimal.Decimal) *governance.Decimal {
	middle, known := governance.Median(numbers)
	if !known {
		return nil
	}
	return decimalOf(middle.RoundBank(places))
}

func sumOf(ballots []pages.CountedBallot) (sum governance.Units) {
	for i := range ballots {
		sum = sum.Add(ballots[i].Power)
	}
	return sum
}

// leavesBallotsOut reports whether the total may be without ballots that are stored, as they are invalid.
func (f *Facts) leavesBallotsOut() bool {
	isInvalid := func(b pages.CountedBallot) bool { return b.Invalid }
	return f.Votes.Basis != nil && *f.Votes.Basis == governance.UpstreamBasis && slices.ContainsFunc(f.Ballots, isInvalid)
}

func (c *composer) concentrate() {
	total := sumOf(c.Ballots)
	if total == (governance.Units{}) || !c.whole() || c.leavesBallotsOut() {
		c.unknown("missing_data", "how power was distributed", "ballots are missing, have no power, or are not in upstream's total", "the proposal's page at the provider")
		return
	}
	var sum, weighted governance.Units
	nakamoto, all := 0, total.Decimal()
	var tops [11]governance.Decimal
	n := len(c.byPower)
	for i := range c.byPower {
		if sum = sum.Add(c.byPower[i].Power); nakamoto == 0 && sum.Add(sum).Cmp(total) > 0 {
			nakamoto = i + 1
		}
		weighted = weighted.Add(sum) // each power as often as its place in ascending order
		if i+1 < len(tops) {
			tops[i+1] = *percent(sum.Decimal(), all)
		}
	}
	// 2·Σ i·xᵢ ÷ (n·Σ xᵢ) − (n+1) ÷ n, as one quotient.
	gini := weighted.Decimal().Mul(decimal.NewFromInt(2)).Sub(all.Mul(decimal.NewFromInt(int64(n + 1))))
	c.d.Concentration = &governance.DossierConcentration{
		LargestPercent: tops[1], Top5Percent: tops[min(5, n)], Top10Percent: tops[min(10, n)], Nakamoto: *countOf(nakamoto),
		Gini: ratio(gini, all.Mul(decimal.NewFromInt(int64(n)))),
	}
}

// hour is in milliseconds.
const hour = governance.Timestamp(3_600_000)

func (c *composer) run() {
	start, end := c.Detail.StartAt, c.Detail.EndAt
	if !c.whole() || !c.dated() || start == nil || end == nil || *end <= *start || c.Proposal.StartDayOnly || c.Proposal.EndDayOnly {
		c.unknown("missing_data", "how the vote went", "ballots are missing, or a time is not known", "the proposal's page at the provider")
		return
	}
	course := &governance.DossierCourse{Recasts: governance.CountOf(c.Recasts), SideChanges: governance.CountOf(c.SideChanges)}
	within := func(from, to governance.Timestamp) governance.DossierPeriod {
		first := castBefore(c.Ballots, from)
		ballots := c.Ballots[first:max(first, castBefore(c.Ballots, to))]
		return governance.DossierPeriod{Ballots: *countOf(len(ballots)), VotingPower: governance.DecimalOf(sumOf(ballots).Decimal())}
	}
	const forever = governance.Timestamp(1 << 62)
	for tenth := range governance.Timestamp(10) {
		from, to := tenthOf(*start, *end, tenth), tenthOf(*start, *end, tenth+1)
		if tenth == 0 {
			from = 0
		}
		if tenth == 9 {
			to = forever
		}
		course.Tenths = append(course.Tenths, within(from, to))
	}
	course.FirstHour, course.LastHour = within(0, *start+hour), within(*end-hour, forever)
	course.LastTenPercent = course.Tenths[9]
	c.changesOfLead(course)
	c.d.Course = course
}

func tenthOf(start, end, number governance.Timestamp) governance.Timestamp {
	return start + (end-start)*number/10
}

// castBefore returns how many of the ballots, which are in order of time, were cast before a time.
func castBefore(ballots []pages.CountedBallot, at governance.Timestamp) int {
	n, _ := slices.BinarySearchFunc(ballots, at, func(b pages.CountedBallot, at governance.Timestamp) int { return cmp.Compare(orFirst(b.VotedAt), at) })
	return n
}

// byTime returns ballots, which are in order of voters, in order of time.
func byTime(ballots []pages.CountedBallot) []pages.CountedBallot {
	return ordered(ballots, func(b *pages.CountedBallot) int64 { return int64(orFirst(b.VotedAt)) }, func(_, _ *pages.CountedBallot) int { return 0 })
}

func byPower(ballots []pages.CountedBallot) []pages.CountedBallot {
	return ordered(ballots, func(b *pages.CountedBallot) int64 {
		if b.Power[3]|b.Power[2]|b.Power[1]>>31 != 0 {
			return -math.MaxInt64
		}
		return -int64(b.Power[1]<<32 | b.Power[0]>>32) //nolint:gosec // 63 bits
	}, func(a, b *pages.CountedBallot) int { return b.Power.Cmp(a.Power) })
}

// ordered returns ballots by a key, then as ties says, then as they were. It moves keys instead of ballots.
func ordered(
	ballots []pages.CountedBallot, key func(*pages.CountedBallot) int64, ties func(a, b *pages.CountedBallot) int,
) []pages.CountedBallot {
	type cast struct {
		key   int64
		place int
	}
	casts, moved := make([]cast, len(ballots)), make([]pages.CountedBallot, len(ballots))
	for i := range ballots {
		casts[i] = cast{key(&ballots[i]), i}
	}
	slices.SortFunc(casts, func(a, b cast) int {
		if a.key != b.key {
			return cmp.Compare(a.key, b.key)
		}
		return cmp.Or(ties(&ballots[a.place], &ballots[b.place]), cmp.Compare(a.place, b.place))
	})
	for i, c := range casts {
		moved[i] = ballots[c.place]
	}
	return moved
}

func (c *composer) changesOfLead(course *governance.DossierCourse) {
	r := c.race
	if r == nil {
		c.unknown("missing_data", "how often the lead changed", "some of the ballots have no leader in this voting system, or upstream states other scores", votesRoute(c.Detail.ProposalKey))
		return
	}
	final, second := c.d.Decision.Leader, c.d.Decision.RunnerUp
	course.LeaderChanges, course.LateLeaderChange = &r.changes, new(final != nil && r.earlyLeader != "" && r.earlyLeader != final.Key)
	if final != nil {
		first, next := slices.Index(r.keys, final.Key), slices.Index(r.keys, second.Key)
		course.LateSwingPower = signed(decimalOf(lead(r.powers, first, next).Sub(lead(r.early, first, next))))
	}
}

func lead(powers []governance.Units, first, next int) decimal.Decimal {
	return powers[first].Decimal().Sub(powers[next].Decimal())
}

func (c *composer) rankVoters() {
	v := &c.d.Voters
	v.Strongest, v.Largest = []governance.DossierStrongVoter{}, []governance.DossierBallot{}
	for _, b := range c.byPower[:min(10, len(c.byPower))] {
		v.Largest = append(v.Largest, *c.ballot(b))
	}
	for _, strong := range c.Strongest {
		of := governance.DossierStrongVoter{VoterIdentity: strong.Voter, YearPower: governance.DecimalOf(strong.Power)}
		if at := slices.IndexFunc(c.byPower, func(b pages.CountedBallot) bool { return b.Voter == strong.Voter }); at >= 0 {
			of.Ballot = c.ballot(c.byPower[at])
		}
		v.Strongest = append(v.Strongest, of)
	}
	if end := c.end(); c.lackBallots(end-governance.Timestamp(year.Milliseconds()), end) {
		c.unknown("missing_data", "who the strongest voters of the year are", "ballots on proposals of the year are missing", earlierPages)
	}
	if rules.LackBallots(c.Quality) {
		c.unknown("missing_data", "whether voters without a ballot here have voted", "ballots are missing", votesRoute(c.Detail.ProposalKey))
	}
}

// lackBallots reports whether ballots may be missing on proposals of the DAO that ended after a time and until another.
func (f *Facts) lackBallots(after, until governance.Timestamp) bool {
	return slices.ContainsFunc(f.endedIn(after, until), func(k pages.KnownProposal) bool { return rules.LackBallots(k.Quality) })
}
