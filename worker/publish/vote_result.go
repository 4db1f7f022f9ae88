package publish

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/shopspring/decimal"

	"pnyx/governance"
	"pnyx/governance/rules"
	"pnyx/warehouse"
	"pnyx/warehouse/counts"
	"pnyx/warehouse/record"
	"pnyx/warehouse/records"
)

// errUnbalanced means that sums do not match their parts.
var errUnbalanced = errors.New("choices do not sum to the ballots")

// maxPreferences bounds the choices that ballots read in groups name together: 100,000 voters can rank 100. A
// run-off beyond it takes the scores that upstream states.
const maxPreferences = 10_000_000

type ballots struct {
	totals counts.VoteTotals
	// groups are all by the choices that they name, of a vote that needs groups and has at most maxPreferences.
	groups []governance.Ranking
}

type voteResult struct {
	choices []governance.Choice
	bounds  governance.ChoiceBounds
	// from says what the totals are; empty for none, which makes all fields below but held meaningless.
	from     governance.Basis
	coverage governance.Coverage
	// held are the sums of the ballots that count, supporting the power of those that support any choice, and
	// counted their scores, in the order of choices; nil where only upstream can compute them.
	held       counts.VoteTotals
	supporting decimal.Decimal
	counted    []governance.Score
	stated     *statement
	// votes is the number of votes, nil where upstream does not state it, and power is their voting power.
	votes *uint64
	power decimal.Decimal
	// scores are in the order of choices; nil where unknown. hasChoiceVotes says that their votes are known.
	scores         []governance.Score
	hasChoiceVotes bool
	// settled says that the totals are final, provided that the vote is over: they decide.
	settled bool
	quorum  *governance.Quorum
	flags   []governance.QualityFlag
	// unbalanced is set when records landed between two reads: the result replaces no previous one.
	unbalanced error
}

func (c *voteResult) ready() bool { return c.from != "" }

// countVotes returns the result of a vote. Snapshot has not always called partial rankings invalid, and does not
// say since when: they count where it states no scores, or other ones, and scores with them are not refuted.
func countVotes(p records.Proposal, b ballots, over bool) voteResult {
	bounds := p.Provider.ChoiceBounds(p.VoteType, len(p.Choices))
	c := countWithin(p, b, over, bounds)
	if p.VoteType != governance.RankedChoice || len(p.StatedScores) > 0 && len(c.scoresUnlike(p, p.StatedScores)) == 0 {
		return c
	}
	bounds.Least = 1
	if partial := countWithin(p, b, over, bounds); len(partial.scoresUnlike(p, p.StatedScores)) == 0 {
		return partial
	}
	return c
}

func countWithin(p records.Proposal, b ballots, over bool, bounds governance.ChoiceBounds) voteResult {
	c := voteResult{held: b.totals, bounds: bounds}
	var derived bool
	c.choices, derived = choicesOf(p, c.held)
	valid, invalid, err := validBallots(p, b, bounds)
	scores, countable := scoresOf(p, valid, c.choices)
	if p.VoteType == governance.RankedChoice && preferences(p, c.held) > maxPreferences {
		countable = false
	}
	c.unbalanced = cmp.Or(err, checkBalance(p, valid.totals))
	c.supporting = supportingPower(p, valid.totals, c.choices)
	if countable {
		c.counted = make([]governance.Score, len(c.choices))
		for i, choice := range c.choices {
			c.counted[i] = scores[choice.Key]
		}
	}
	c.stated = statementOf(p, len(c.choices))
	c.from, c.coverage = c.basis(p, over), c.coverageOf(p)
	final := p.HasFinalScores() || c.stated == nil && p.ScoresState == ""
	switch c.from {
	case governance.UpstreamBasis:
		c.takeStatement(p)
		c.settled = final
	case governance.BallotsBasis:
		c.votes, c.power, c.scores, c.hasChoiceVotes = &c.held.Votes, c.held.Power, c.counted, true
		c.settled = final && c.coverage == governance.Complete
	}
	c.setQuorum(p)
	c.flags = append(ballotFlags(c.held, c.coverage), raised(map[governance.QualityFlag]bool{
		rules.ChoicesDerived:     derived,
		rules.ScoresUnavailable:  c.ready() && c.scores == nil,
		rules.BallotsInvalid:     len(c.choices) > 0 && (invalid || c.held.Forms[counts.Malformed] > 0 || !derived && len(strays(valid.totals, c.choices)) > 0),
		rules.TotalsFromUpstream: c.from == governance.UpstreamBasis,
		rules.Provisional:        p.Provisional || c.from == governance.UpstreamBasis && !final,
	})...)
	return c
}

func (c *voteResult) takeStatement(p records.Proposal) {
	s := c.stated
	c.votes, c.power, c.hasChoiceVotes = s.votes, s.power, s.choiceVotes != nil
	if s.scores == nil || s.isUncounted(p) {
		return
	}
	c.scores = make([]governance.Score, len(c.choices))
	for i, score := range s.scores {
		c.scores[i].Power = score
		if c.hasChoiceVotes {
			c.scores[i].Votes = s.choiceVotes[i]
		}
	}
}

func ballotFlags(t counts.VoteTotals, coverage governance.Coverage) []governance.QualityFlag {
	return raised(map[governance.QualityFlag]bool{
		rules.BallotsMissing: coverage == governance.CoverageUnavailable,
		rules.BallotsPartial: coverage == governance.Partial,
		rules.BallotsUndated: t.Undated > 0,
		rules.BallotsDayOnly: t.DayOnly > 0,
		rules.RecastsPresent: t.Recast,
		rules.PowerRounded:   t.Rounded > 0,
	})
}

func raised(flags map[governance.QualityFlag]bool) []governance.QualityFlag {
	maps.DeleteFunc(flags, func(_ governance.QualityFlag, applies bool) bool { return !applies })
	return slices.Collect(maps.Keys(flags))
}

// choicesOf returns the stated choices. Where upstream states none, they are derived from ballots and scores: all
// positions up to the last, three in a basic vote.
func choicesOf(p records.Proposal, t counts.VoteTotals) (choices []governance.Choice, derived bool) {
	choices = []governance.Choice{}
	for i, label := range p.Choices {
		choices = append(choices, governance.Choice{Key: p.Provider.ChoiceKey(i), Label: label})
	}
	if len(choices) > 0 {
		return choices, false
	}
	for i, key := range unstatedKeys(p, t) {
		label := "Choice " + key
		if basic := governance.GovernorChoices(); p.VoteType == governance.Basic && i < len(basic) {
			label = basic[i].Label
		}
		choices = append(choices, governance.Choice{Key: key, Label: label})
	}
	return choices, len(choices) > 0
}

// supportingPower returns the power of ballots without what they give to choices that do not exist.
func supportingPower(p records.Proposal, t counts.VoteTotals, choices []governance.Choice) decimal.Decimal {
	power := t.SupportingPower
	if givesPowerOnce(p.VoteType) {
		for _, score := range strays(t, choices) {
			power = power.Sub(score.Power)
		}
	}
	return power
}

// strays returns what ballots give to choices that do not exist.
func strays(t counts.VoteTotals, choices []governance.Choice) map[string]governance.Score {
	found := maps.Clone(t.Choices)
	for _, choice := range choices {
		delete(found, choice.Key)
	}
	return found
}

func unstatedKeys(p records.Proposal, t counts.VoteTotals) []string {
	const maxDerivedChoices = 100 // bounds the choices that are derived from the key of the last one that ballots support
	keys := slices.SortedFunc(maps.Keys(t.Choices), governance.CompareChoiceKeys)
	last := len(p.StatedScores)
	if len(keys) > 0 {
		voted, err := strconv.Atoi(keys[len(keys)-1])
		if err != nil || voted > maxDerivedChoices {
			return keys
		}
		last = max(last, voted)
	}
	keys = keys[:0]
	for position := range last {
		keys = append(keys, p.Provider.ChoiceKey(position))
	}
	return keys
}

// scoresOf computes the scores by choice key; false where only upstream can.
func scoresOf(p records.Proposal, b ballots, choices []governance.Choice) (scores map[string]governance.Score, ok bool) {
	switch p.VoteType {
	case governance.SingleChoice, governance.Basic, governance.Approval, governance.Weighted, "":
		return b.totals.Choices, true
	case governance.RankedChoice:
		return governance.InstantRunoff(b.groups, governance.CompareChoiceKeys), true
	case governance.Quadratic:
		return quadraticScores(p, b.totals, choices), true
	case governance.Copeland:
	}
	return nil, false
}

func quadraticScores(p records.Proposal, t counts.VoteTotals, choices []governance.Choice) map[string]governance.Score {
	roots := warehouse.Values(choices, func(choice governance.Choice) decimal.Decimal { return t.RootSums[choice.Key] })
	scores := map[string]governance.Score{}
	for i, power := range governance.QuadraticScores(supportingPower(p, t, choices), roots) {
		key := choices[i].Key
		scores[key] = governance.Score{Votes: t.Choices[key].Votes, Power: power}
	}
	return scores
}

func (c *voteResult) choiceTotals() []governance.ChoiceTotal {
	totals := make([]governance.ChoiceTotal, len(c.scores))
	for i, score := range c.scores {
		totals[i] = governance.ChoiceTotal{
			Key: c.choices[i].Key, Label: c.choices[i].Label, VotingPower: governance.DecimalOf(score.Power),
		}
		if c.hasChoiceVotes {
			totals[i].Votes = new(governance.CountOf(score.Votes))
		}
	}
	return totals
}

// checkBalance compares the sum over all choices with the ballots, for vote types in which each ballot divides its
// power. The two come from different reads.
func checkBalance(p records.Proposal, t counts.VoteTotals) error {
	if !givesPowerOnce(p.VoteType) {
		return nil
	}
	sum := decimal.Zero
	for _, score := range t.Choices {
		sum = sum.Add(score.Power)
	}
	if !sum.Equal(t.SupportingPower) {
		return fmt.Errorf("%w: %s over choices, %s over ballots", errUnbalanced, sum, t.SupportingPower)
	}
	return nil
}

// setQuorum compares the totals with the quorum. Ballots that are missing may reach one that those held do not.
func (c *voteResult) setQuorum(p records.Proposal) {
	needed := p.NeededQuorum()
	if !c.ready() || needed == nil || c.scores == nil && len(p.CountedChoices()) > 0 {
		return
	}
	counted := governance.QuorumPower(p.CountedChoices(), c.power, func(key string) decimal.Decimal {
		for i, choice := range c.choices {
			if choice.Key == key {
				return c.scores[i].Power
			}
		}
		return decimal.Zero
	})
	kind := cmp.Or(p.QuorumType, governance.QuorumOfApproval)
	c.quorum = &governance.Quorum{
		Raw: p.QuorumRaw, Progress: governance.QuorumProgress(counted, *needed), Type: kind,
	}
	reached := kind.IsReached(counted, *needed)
	if reached || c.from == governance.UpstreamBasis || c.coverage == governance.Complete {
		c.quorum.Reached = &reached
	}
}

func (c *voteResult) decide(p records.Proposal) governance.Outcome {
	// A Governor always has a quorum. Where none is stated, it is unknown.
	known := p.Quorum != nil || !p.Provider.AlwaysHasQuorum()
	if !known || !c.settled || c.scores == nil || !p.Provider.DecidesByMajority(p.VoteType) {
		return governance.Unknown
	}
	powers := warehouse.Values(c.scores, func(score governance.Score) decimal.Decimal { return score.Power })
	return governance.Decide(p.VoteType, c.choices, powers, c.quorum)
}

// winner returns the choice with the most power; nil where totals are not final, or no choice has any.
func (c *voteResult) winner() *governance.VoteResult {
	if !c.settled || len(c.scores) == 0 {
		return nil
	}
	ranked := slices.Clone(c.scores)
	slices.SortFunc(ranked, func(a, b governance.Score) int { return b.Power.Cmp(a.Power) })
	first, second := ranked[0].Power, decimal.Zero
	if len(ranked) > 1 {
		second = ranked[1].Power
	}
	if !first.IsPositive() {
		return nil
	}
	margin := first.Sub(second)
	percent, _ := margin.Shift(2).QuoRem(decimal.Max(c.power, first), 2)
	won := &governance.VoteResult{
		MarginPower: governance.DecimalOf(margin), MarginPercent: governance.DecimalOf(percent), Tie: margin.IsZero(),
	}
	for i, score := range c.scores {
		if !won.Tie && score.Power.Equal(first) {
			won.ChoiceKey, won.Label = &c.choices[i].Key, &c.choices[i].Label
		}
	}
	return won
}

// needsGroups reports whether ballots are read in groups: for a run-off, or to tell those that are invalid.
func needsGroups(p records.Proposal, t counts.VoteTotals) bool {
	choices, _ := choicesOf(p, t)
	switch {
	case p.VoteType == governance.RankedChoice:
		return true
	case p.Provider.IsOnchain():
		return false
	}
	return p.VoteType == governance.Copeland || checkBalance(p, t) != nil || len(strays(t, choices)) > 0 || hasOtherForms(p, t)
}

func hasOtherForms(p records.Proposal, t counts.VoteTotals) bool {
	switch form := p.Provider.ChoiceBounds(p.VoteType, len(p.Choices)).Form; form {
	case "":
		return false
	case governance.NumberForm:
		return t.Forms[string(governance.ListForm)]+t.Forms[string(governance.WeightsForm)] > 0
	default:
		return t.Votes > t.Forms[string(form)]+t.Forms[counts.Malformed]
	}
}

// preferences counts the choices that the ballots of a vote name; zero for a vote that is not read in groups.
func preferences(p records.Proposal, t counts.VoteTotals) (count uint64) {
	if !needsGroups(p, t) {
		return 0
	}
	for _, choice := range t.Choices {
		count += choice.Votes
	}
	return max(count, min(t.Votes, 1)) // one that names nothing is in a group, too
}

// validBallots returns what those ballots support that upstream calls valid; votes and power stay the totals of
// all ballots. invalid reports whether there are others. Without groups, all ballots count as valid.
func validBallots(p records.Proposal, b ballots, bounds governance.ChoiceBounds) (valid ballots, invalid bool, err error) {
	if b.groups == nil {
		return b, false, nil
	}
	valid = b
	valid.groups, valid.totals.SupportingPower = nil, decimal.Zero
	valid.totals.Choices, valid.totals.RootSums = map[string]governance.Score{}, map[string]decimal.Decimal{}
	votes, power, stated := uint64(0), decimal.Zero, map[string]bool{}
	for i := range p.Choices {
		stated[p.Provider.ChoiceKey(i)] = true
	}
	for _, group := range b.groups {
		votes, power = votes+group.Votes, power.Add(group.Power)
		switch {
		case !bounds.Allow(len(group.Choices), group.Form), slices.ContainsFunc(group.Choices, func(key string) bool { return len(stated) > 0 && !stated[key] }):
			invalid = true
		case len(group.Choices) > 0:
			valid.groups = append(valid.groups, group)
			valid.totals.Support(group)
		}
	}
	if votes != b.totals.Votes || !power.Equal(b.totals.Power) {
		err = fmt.Errorf("%w: %d of %s in groups, %d of %s in all", errUnbalanced, votes, power, b.totals.Votes, b.totals.Power)
	}
	return valid, invalid, err
}

type statement struct {
	votes *uint64
	power decimal.Decimal
	// scores and choiceVotes are in the order of the choices; nil where upstream does not state them.
	scores      []decimal.Decimal
	choiceVotes []uint64
}

// statementOf returns what upstream states of a vote; nil where it does not state the total power.
func statementOf(p records.Proposal, choices int) *statement {
	s := &statement{votes: p.StatedVotes}
	if choices > 0 && len(p.StatedScores) == choices {
		s.scores = p.StatedScores
	}
	if choices > 0 && len(p.StatedChoiceVotes) == choices {
		s.choiceVotes = p.StatedChoiceVotes
	}
	switch {
	case p.StatedScoresTotal != nil:
		s.power = *p.StatedScoresTotal
	case s.scores != nil && givesPowerOnce(p.VoteType):
		s.power = decimal.Sum(decimal.Zero, s.scores...)
	default:
		return nil
	}
	return s
}

// isUncounted reports whether upstream gives its ballots no power: they are encrypted, or it is not known yet.
func (s *statement) isUncounted(p records.Proposal) bool {
	final := p.ScoresState != "" && p.HasFinalScores()
	return !p.Provider.IsOnchain() && !final && s.votes != nil && *s.votes > 0 && decimal.Sum(decimal.Zero, s.scores...).IsZero()
}

func givesPowerOnce(v governance.VoteType) bool {
	return slices.Contains([]governance.VoteType{
		governance.SingleChoice, governance.Basic, governance.Weighted, governance.Quadratic,
	}, v)
}

// basis decides whether a vote has the totals that upstream states, or the sums of the ballots that count; empty
// for neither. Once a vote is over, a final statement that differs from the ballots decides, and one that is not
// final is of no use. Before, a statement of less than the ballots lags behind them.
func (c *voteResult) basis(p records.Proposal, over bool) governance.Basis {
	s := c.stated
	noneCast := p.StatedVotes != nil && *p.StatedVotes == 0 || p.Provider.HasEveryBallot()
	switch {
	case s == nil || over && !p.HasFinalScores() || s.power.IsZero() && s.isUncounted(p):
	case c.held.Votes == 0 && !noneCast,
		c.counted == nil && s.scores != nil,
		over && (s.votes != nil && *s.votes != c.held.Votes || c.totalDiffers(p) || c.leavesBallotsOut(p) || len(c.scoresThatDiffer(p)) > 0),
		s.votes != nil && *s.votes > c.held.Votes,
		s.power.GreaterThan(c.held.Power) && c.totalDiffers(p):
		return governance.UpstreamBasis
	}
	if c.held.Votes > 0 || noneCast {
		return governance.BallotsBasis
	}
	return ""
}

// totalDiffers compares with and without ballots that support no choice: upstream has not always counted them.
func (c *voteResult) totalDiffers(p records.Proposal) bool {
	return c.stated != nil && differ(p.Provider, c.stated.power, c.held.Power) && differ(p.Provider, c.stated.power, c.supporting)
}

// leavesBallotsOut reports whether upstream's total is without ballots that support no choice.
func (c *voteResult) leavesBallotsOut(p records.Proposal) bool {
	return p.StatedScoresTotal != nil && differ(p.Provider, *p.StatedScoresTotal, c.held.Power)
}

// scoresThatDiffer returns the positions of the choices whose stated score is not the ballots'.
func (c *voteResult) scoresThatDiffer(p records.Proposal) []int {
	if c.stated == nil {
		return nil
	}
	return c.scoresUnlike(p, c.stated.scores)
}

// scoresUnlike returns the positions of the choices whose score is not the ballots'; none where these have
// no scores, or not as many.
func (c *voteResult) scoresUnlike(p records.Proposal, scores []decimal.Decimal) (positions []int) {
	if len(scores) != len(c.counted) {
		return nil
	}
	for i, score := range scores {
		if differ(p.Provider, score, c.counted[i].Power) {
			positions = append(positions, i)
		}
	}
	return positions
}

// coverageOf compares the ballots held with the number that upstream states, or else with the power. An unreadable
// ballot has no power. What a file lacked counts as held only if the number proves it.
func (c *voteResult) coverageOf(p records.Proposal) governance.Coverage {
	missing := p.StatedVotes != nil && *p.StatedVotes > c.held.Votes
	if p.StatedVotes == nil {
		missing = c.stated != nil && c.stated.power.GreaterThan(c.held.Power) && c.totalDiffers(p)
	}
	if c.held.Choices[record.Unreadable].Votes > 0 || p.LacksBallots && (p.StatedVotes == nil || *p.StatedVotes != c.held.Votes) {
		missing = true
	}
	noneCast := p.StatedVotes != nil || p.Provider.HasEveryBallot()
	switch {
	case c.held.Votes == 0 && (missing || !noneCast):
		return governance.CoverageUnavailable
	case missing:
		return governance.Partial
	}
	return governance.Complete
}
