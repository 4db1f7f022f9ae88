package publish

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/shopspring/decimal"

	"pnyx/governance"
	"pnyx/governance/rules"
	"pnyx/warehouse"
)

// errUnbalanced means that sums do not match their parts.
var errUnbalanced = errors.New("choices do not sum to the ballots")

// maxDerivedChoices bounds the choices that are derived from the key of the last one that
// ballots support.
const maxDerivedChoices = 100

type ballots struct {
	totals warehouse.VoteTotals
	// rankings are those of a ranked-choice vote with at most maxPreferences preferences.
	rankings []governance.Ranking
}

// voteResult is the result of a vote. All sums are exact decimals.
type voteResult struct {
	choices []governance.Choice
	// ready reports whether there are ballots, or it is known that there are none. All
	// fields below are meaningless otherwise.
	ready    bool
	coverage governance.Coverage
	// votes counts the ballots, one a voter, and power is their voting power.
	votes uint64
	power decimal.Decimal
	// supporting is the power of the ballots that support any choice.
	supporting decimal.Decimal
	// scores and totals are in the order of choices. Both are empty where only upstream
	// could compute them and does not state them.
	scores      []governance.Score
	totals      []governance.ChoiceTotal
	quorum      *governance.Quorum
	lastVotedAt *governance.Timestamp
	flags       []governance.QualityFlag
	votedIn     map[warehouse.Month]uint64
	// decidable reports whether decisive and quorumReached determine the outcome.
	decidable bool
	// decisive are the scores that decide, in the order of choices. decidedByScores reports
	// that they are upstream's own.
	decisive        []decimal.Decimal
	decidedByScores bool
	quorumReached   bool
	// unbalanced is set when the choices do not sum to the ballots: records landed between
	// two reads. Such a result is not published over a previous one.
	unbalanced error
}

func countVotes(p warehouse.Proposal, b ballots) voteResult {
	t := b.totals
	c := voteResult{
		votes: t.Votes, power: t.Power, supporting: t.SupportingPower,
		lastVotedAt: t.LastVotedAt, votedIn: t.VotedIn,
	}
	c.ready = t.Votes > 0 || p.StatedVotes != nil && *p.StatedVotes == 0 || p.Provider.HasEveryBallot()
	c.coverage = coverageOf(c.ready, t.Votes, p.StatedVotes)
	c.flags = ballotFlags(t, c.coverage)

	var derived bool
	c.choices, derived = choicesOf(p, t)
	if derived {
		c.flags = append(c.flags, rules.ChoicesDerived)
	}
	scores, countable := scoresOf(p, b, c.choices)
	if !countable && c.ready {
		c.flags = append(c.flags, rules.ScoresUnavailable)
	}
	if countable {
		c.totals = choiceTotals(c.choices, scores)
		for _, choice := range c.choices {
			c.scores = append(c.scores, scores[choice.Key])
		}
		c.unbalanced = checkBalance(p, t, c.choices, scores)
	} else {
		c.totals = []governance.ChoiceTotal{}
	}
	c.decide(p, scores)
	return c
}

// coverageOf compares the number of stored ballots with the number that upstream states.
func coverageOf(ready bool, stored uint64, stated *uint64) governance.Coverage {
	switch {
	case !ready:
		return governance.CoverageUnavailable
	case stated != nil && *stated > stored:
		return governance.Partial
	}
	return governance.Complete
}

func ballotFlags(
	t warehouse.VoteTotals, coverage governance.Coverage,
) []governance.QualityFlag {
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

// choicesOf returns the choices that upstream states, followed by those that ballots
// support in addition; derived reports whether there are any of the latter. Where upstream
// states no choices, all positions before the last supported one are choices too.
func choicesOf(
	p warehouse.Proposal, t warehouse.VoteTotals,
) (choices []governance.Choice, derived bool) {
	choices = []governance.Choice{}
	known := map[string]bool{}
	for i, label := range p.Choices {
		key := p.Provider.ChoiceKey(i)
		known[key] = true
		choices = append(choices, governance.Choice{Key: key, Label: label})
	}
	for _, key := range unstatedKeys(p, t) {
		if !known[key] {
			derived = true
			choices = append(choices, governance.Choice{Key: key, Label: "Choice " + key})
		}
	}
	return choices, derived
}

// unstatedKeys returns the keys of the choices that ballots name or imply.
func unstatedKeys(p warehouse.Proposal, t warehouse.VoteTotals) []string {
	var keys []string
	for key := range t.Choices {
		keys = append(keys, key)
	}
	slices.SortFunc(keys, governance.CompareChoiceKeys)
	if len(p.Choices) > 0 || len(keys) == 0 {
		return keys
	}
	last, err := strconv.Atoi(keys[len(keys)-1])
	if err != nil || last > maxDerivedChoices {
		return keys
	}
	keys = keys[:0]
	for position := range last {
		keys = append(keys, p.Provider.ChoiceKey(position))
	}
	return keys
}

// scoresOf computes the scores by choice key. It returns false where only upstream can
// compute them, and does not state them.
func scoresOf(
	p warehouse.Proposal, b ballots, choices []governance.Choice,
) (scores map[string]governance.Score, ok bool) {
	switch p.VoteType {
	case governance.SingleChoice, governance.Basic, governance.Approval, governance.Weighted, "":
		return b.totals.Choices, true
	case governance.RankedChoice:
		if preferences(p, b.totals) <= maxPreferences {
			return countRunoff(p, b.rankings), true
		}
	case governance.Quadratic:
		return quadraticScores(b.totals, choices), true
	case governance.Copeland:
	}
	if len(p.StatedScores) == 0 || len(p.StatedScores) != len(choices) {
		return nil, false
	}
	scores = map[string]governance.Score{}
	for i, choice := range choices {
		scores[choice.Key] = governance.Score{
			Votes: b.totals.Choices[choice.Key].Votes, Power: p.StatedScores[i],
		}
	}
	return scores, true
}

// quadraticScores computes the scores of a quadratic vote from the sums of square roots
// that the warehouse computes.
func quadraticScores(
	t warehouse.VoteTotals, choices []governance.Choice,
) map[string]governance.Score {
	roots := make([]decimal.Decimal, len(choices))
	for i, choice := range choices {
		roots[i] = t.RootSums[choice.Key]
	}
	scores := map[string]governance.Score{}
	for i, power := range governance.QuadraticScores(t.SupportingPower, roots) {
		key := choices[i].Key
		scores[key] = governance.Score{Votes: t.Choices[key].Votes, Power: power}
	}
	return scores
}

// choiceTotals returns the scores as the vote summary states them.
func choiceTotals(
	choices []governance.Choice, scores map[string]governance.Score,
) []governance.ChoiceTotal {
	totals := make([]governance.ChoiceTotal, len(choices))
	for i, choice := range choices {
		score := scores[choice.Key]
		totals[i] = governance.ChoiceTotal{
			Key: choice.Key, Label: choice.Label,
			Votes: governance.CountOf(score.Votes), VotingPower: governance.DecimalOf(score.Power),
		}
	}
	return totals
}

// checkBalance compares the sum over choices with the ballots, for the vote types in
// which each ballot gives its power once. The two come from different reads.
func checkBalance(
	p warehouse.Proposal, t warehouse.VoteTotals, choices []governance.Choice, scores map[string]governance.Score,
) error {
	givesPowerOnce := []governance.VoteType{
		governance.SingleChoice, governance.Basic, governance.Weighted, governance.Quadratic,
	}
	if !slices.Contains(givesPowerOnce, p.VoteType) {
		return nil
	}
	sum := decimal.Zero
	for _, choice := range choices {
		sum = sum.Add(scores[choice.Key].Power)
	}
	if !sum.Equal(t.SupportingPower) {
		return fmt.Errorf("%w: %s over choices, %s over ballots", errUnbalanced, sum, t.SupportingPower)
	}
	return nil
}

// decide sets the quorum, and what an outcome can be derived from. On Snapshot, upstream's
// scores decide where it states them: they include ballots that may not be stored.
func (c *voteResult) decide(p warehouse.Proposal, scores map[string]governance.Score) {
	counted := governance.QuorumPower(p.CountedChoices(), c.power, func(choiceKey string) decimal.Decimal {
		return scores[choiceKey].Power
	})
	if c.ready && p.Quorum != nil {
		progress, reached := governance.QuorumProgress(counted, *p.Quorum)
		c.quorum = &governance.Quorum{Raw: p.QuorumRaw, Progress: progress, Reached: reached}
	}
	if !p.Provider.DecidesByMajority(p.VoteType) {
		return
	}
	stated := p.Provider.StatedScoresDecide() &&
		len(p.StatedScores) > 0 && len(p.StatedScores) == len(c.choices)
	switch {
	case stated:
		c.decisive, c.decidedByScores = p.StatedScores, true
		counted = decimal.Sum(decimal.Zero, p.StatedScores...)
	case c.coverage == governance.Complete:
		c.decisive = make([]decimal.Decimal, len(c.choices))
		for i, choice := range c.choices {
			c.decisive[i] = scores[choice.Key].Power
		}
	default:
		return
	}
	// A Governor always has a quorum. Where none is stated, it is unknown.
	c.decidable = p.Quorum != nil || !p.Provider.AlwaysHasQuorum()
	c.quorumReached = p.Quorum == nil || counted.GreaterThanOrEqual(*p.Quorum)
}
