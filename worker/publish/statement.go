package publish

import (
	"slices"

	"github.com/shopspring/decimal"

	"pnyx/governance"
	"pnyx/warehouse/record"
	"pnyx/warehouse/records"
)

// statement is what upstream states of a vote as a whole.
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
		over && (c.votesDiffer() || c.totalDiffers(p) || c.leavesBallotsOut(p) || len(c.scoresThatDiffer(p)) > 0),
		s.votes != nil && *s.votes > c.held.Votes,
		s.power.GreaterThan(c.held.Power) && c.totalDiffers(p):
		return governance.UpstreamBasis
	}
	if c.held.Votes > 0 || noneCast {
		return governance.BallotsBasis
	}
	return ""
}

func (c *voteResult) votesDiffer() bool {
	return c.stated != nil && c.stated.votes != nil && *c.stated.votes != c.held.Votes
}

// totalDiffers compares with and without ballots that support no choice: upstream has not always counted them.
func (c *voteResult) totalDiffers(p records.Proposal) bool {
	return c.stated != nil && differ(p.Provider, c.stated.power, c.held.Power) && differ(p.Provider, c.stated.power, c.supporting)
}

// leavesBallotsOut reports whether upstream's total is without ballots that support no choice.
func (c *voteResult) leavesBallotsOut(p records.Proposal) bool {
	return p.StatedScoresTotal != nil && differ(p.Provider, *p.StatedScoresTotal, c.held.Power)
}

// scoresThatDiffer returns the positions of the choices whose stated score ballots do not come to.
func (c *voteResult) scoresThatDiffer(p records.Proposal) []int {
	if c.stated == nil {
		return nil
	}
	return c.scoresUnlike(p, c.stated.scores)
}

// scoresUnlike returns the positions of the choices whose score is not that of the ballots; none where these have
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

// coverageOf compares the ballots with the number that upstream states, or else the power. An unreadable one has
// none, and what a file lacks is held only if the number proves it.
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
