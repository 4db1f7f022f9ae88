package feed

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/shopspring/decimal"

	"pnyx/governance"
	"pnyx/governance/rules"
	"pnyx/warehouse"
	"pnyx/warehouse/record"
)

// story is what is known of a proposal's life.
type story struct {
	proposal warehouse.Proposal
	state    warehouse.ProposalState
	now      governance.Timestamp
	// quorum is when the quorum was reached; nil for never, or unknown.
	quorum    *warehouse.QuorumTime
	standings []warehouse.InterimTally
	earlier   []uint64
	// claims are the types of events and signals that somebody recorded.
	claims map[warehouse.RecordedType]bool
}

// spans are the times before the end at which votes are looked at.
func spans() []time.Duration {
	return []time.Duration{rules.ReminderSpan, rules.QuorumSpan, rules.RaceSpan}
}

// readStories reads the proposals that are published, with what their ballots tell.
func (c *Builder) readStories(
	ctx context.Context, refs []record.RefHash, now governance.Timestamp,
) ([]story, error) {
	proposals, err := c.warehouse.Proposals(ctx, refs)
	if err != nil {
		return nil, err
	}
	states, err := c.warehouse.PublishedStates(ctx, refs)
	if err != nil {
		return nil, err
	}
	claims, err := c.warehouse.RecordedTypes(ctx, refs)
	if err != nil {
		return nil, err
	}
	turnouts, err := c.warehouse.EarlierTurnouts(ctx, refs)
	if err != nil {
		return nil, err
	}
	byRef := make(map[record.RefHash]warehouse.ProposalState, len(states))
	for _, state := range states {
		byRef[state.Ref] = state
	}
	var stories []story
	for _, proposal := range proposals {
		if state, published := byRef[proposal.Ref]; published {
			stories = append(stories, story{
				proposal: proposal, state: state, now: now, claims: claims, earlier: turnouts[proposal.Ref],
			})
		}
	}
	return stories, c.readBallotTimes(ctx, stories)
}

// readBallotTimes reads what follows from when ballots were cast.
func (c *Builder) readBallotTimes(ctx context.Context, stories []story) error {
	var ended, reached []warehouse.Vote
	for _, s := range stories {
		vote := warehouse.Vote{Ref: s.proposal.Ref}
		if s.proposal.EndAt != nil {
			vote.EndAt = *s.proposal.EndAt
			ended = append(ended, vote)
		}
		if s.reachesQuorum() {
			vote.Quorum = *s.proposal.Quorum
			reached = append(reached, vote)
		}
	}
	standings, err := c.warehouse.InterimTallies(ctx, ended, spans())
	if err != nil {
		return err
	}
	moments, err := c.warehouse.QuorumTimes(ctx, reached)
	if err != nil {
		return err
	}
	for i := range stories {
		ref := stories[i].proposal.Ref
		stories[i].standings = standings[ref]
		if moment, found := moments[ref]; found {
			stories[i].quorum = &moment
		}
	}
	return nil
}

func (s story) flagged(flag governance.QualityFlag) bool {
	return slices.Contains(s.state.QualityFlags, string(flag))
}

// counted is the power that counts towards the quorum.
func (s story) counted(scores []decimal.Decimal, power decimal.Decimal) decimal.Decimal {
	return governance.QuorumPower(s.proposal.Provider, power, func(choiceKey string) decimal.Decimal {
		if i := s.choice(choiceKey); i >= 0 {
			return scores[i]
		}
		return decimal.Zero
	})
}

// reachesQuorum says whether it can be told when the quorum was reached: every
// ballot's time is known.
func (s story) reachesQuorum() bool {
	quorum := s.proposal.Quorum
	if quorum == nil || !quorum.IsPositive() || !s.state.VoteReady || s.flagged(rules.BallotsUndated) {
		return false
	}
	return s.counted(s.finalScores(), s.state.Power).GreaterThanOrEqual(*quorum)
}

func (s story) finalScores() []decimal.Decimal {
	scores := make([]decimal.Decimal, len(s.state.Scores))
	for i, score := range s.state.Scores {
		scores[i] = score.Power
	}
	return scores
}

// claimed says whether somebody recorded an event or signal of the type.
func (s story) claimed(kind string) bool {
	return s.claims[warehouse.RecordedType{Ref: s.proposal.Ref, DAOID: s.state.Identity.DAOID, Type: kind}]
}

// facts are what signals follow from.
func (s story) facts() rules.VoteFacts {
	p := s.proposal
	f := rules.VoteFacts{
		Title: p.Title, Choices: s.state.Choices, Outcome: s.state.Outcome, Quorum: p.Quorum,
		Onchain: p.Provider == governance.Tally, ExecutedAt: milestones(p)[rules.ProposalExecuted],
		Single: s.single(), Earlier: s.earlier, Before: map[time.Duration]rules.Standing{},
	}
	if !p.StartDayOnly {
		f.StartAt = p.StartAt
	}
	if !p.EndDayOnly {
		f.EndAt = p.EndAt
	}
	scores := s.finalScores()
	f.Final = rules.Standing{
		Votes: s.state.Votes, Power: s.state.Power, Counted: s.counted(scores, s.state.Power), Scores: scores,
	}
	whole := s.state.VoteReady && !s.flagged(rules.BallotsPartial) && !s.flagged(rules.TotalsDisagree)
	f.Closed = whole && s.state.Lifecycle == governance.Closed && f.EndAt != nil && *f.EndAt <= s.now
	if whole && !s.flagged(rules.BallotsUndated) && !s.flagged(rules.BallotsDayOnly) {
		for i, span := range spans() {
			f.Before[span] = s.standing(i)
		}
	}
	f.Largest = s.largest()
	return f
}

// single says whether each ballot gives its power to one choice.
func (s story) single() bool {
	kinds := []governance.VoteType{governance.SingleChoice, governance.Basic, ""}
	return slices.Contains(kinds, s.proposal.VoteType) && len(s.state.Scores) > 0 &&
		decimal.Sum(decimal.Zero, s.finalScores()...).LessThanOrEqual(s.state.Power)
}

// standing is how the vote stood at the i-th of spans.
func (s story) standing(i int) rules.Standing {
	standing := rules.Standing{Scores: make([]decimal.Decimal, len(s.state.Choices))}
	for _, choice := range s.standings {
		standing.Votes += choice.Votes[i]
		standing.Power = standing.Power.Add(choice.Powers[i])
		if at := s.choice(choice.Choice); at >= 0 {
			standing.Scores[at] = choice.Powers[i]
		}
	}
	standing.Counted = s.counted(standing.Scores, standing.Power)
	return standing
}

func (s story) choice(key string) int {
	return slices.IndexFunc(s.state.Choices, func(c governance.Choice) bool { return c.Key == key })
}

func (s story) largest() []rules.LargestBallot {
	var largest []rules.LargestBallot
	for _, choice := range s.standings {
		if at := s.choice(choice.Choice); at >= 0 {
			largest = append(largest, rules.LargestBallot{Voter: choice.LargestVoter, Choice: at, Power: choice.Largest})
		}
	}
	return largest
}

// signals are what deserves attention.
func (s story) signals() ([]warehouse.FeedSignal, error) {
	facts := s.facts()
	var rows []warehouse.FeedSignal
	for _, rule := range rules.SignalRules() {
		finding, found := rule.OnVote(facts)
		if !found || s.claimed(rule.Type) {
			continue
		}
		row, err := signalRow(rule, finding, s.state.Identity.DAOID, string(s.state.Key))
		if err != nil {
			return nil, err
		}
		row.Item, row.Ref = s.proposal.Ref, s.proposal.Ref
		row.ProposalKey, row.SourceURL = &s.state.Key, governance.OptionalText(s.proposal.SourceURL)
		rows = append(rows, row)
	}
	return rows, nil
}

// signalRow is a finding about an item, as a signal.
func signalRow(rule rules.SignalRule, f rules.Finding, daoID, itemKey string) (warehouse.FeedSignal, error) {
	evidence, err := json.Marshal(f.Evidence)
	if err != nil {
		return warehouse.FeedSignal{}, fmt.Errorf("encode the evidence of %s: %w", rule.Type, err)
	}
	score := max(0, min(f.Score, 100))
	row := warehouse.FeedSignal{SignalRow: governance.SignalRow{
		Signal: governance.Signal{
			SignalID: governance.SignalID(daoID, rule.Type, itemKey), SignalType: rule.Type,
			Priority: rules.PriorityOf(score), Actionability: rule.Actionability, DAOID: daoID,
			Title: f.Title, Summary: f.Summary, DeadlineAtMs: f.DeadlineAt, Severity: f.Severity, Evidence: evidence,
		},
		DetectedAt: f.DetectedAt,
	}}
	for _, surface := range rules.SurfacesOf(score, f.DeadlineAt != nil) {
		row.Surfaces = append(row.Surfaces, string(surface))
	}
	return row, nil
}
