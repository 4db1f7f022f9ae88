package feed

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/shopspring/decimal"

	"pnyx/governance"
	"pnyx/governance/rules"
	"pnyx/warehouse"
	"pnyx/warehouse/feed"
)

func windows() []time.Duration {
	return []time.Duration{rules.ReminderWindow, rules.QuorumWindow, rules.RaceWindow}
}

func (p proposal) signalRows() ([]feed.FeedSignal, error) {
	facts := p.facts()
	var rows []feed.FeedSignal
	for _, rule := range rules.SignalRules() {
		hit, found := rule.OnVote(facts)
		if !found || p.isRecorded(rule.Type) {
			continue
		}
		row, err := signalRow(rule, hit, p.state.Identity.DAOID, string(p.state.Key))
		if err != nil {
			return nil, err
		}
		row.Item, row.Ref = p.record.Ref, p.record.Ref
		row.ProposalKey, row.SourceURL = &p.state.Key, governance.OptionalText(p.record.SourceURL)
		rows = append(rows, row)
	}
	return rows, nil
}

func signalRow(rule rules.SignalRule, hit rules.RuleHit, daoID, itemKey string) (feed.FeedSignal, error) {
	evidence, err := json.Marshal(hit.Evidence)
	if err != nil {
		return feed.FeedSignal{}, fmt.Errorf("encode the evidence of %s: %w", rule.Type, err)
	}
	score := max(0, min(hit.Score, 100))
	row := feed.FeedSignal{SignalRow: governance.SignalRow{
		Signal: governance.Signal{
			SignalID: governance.SignalID(daoID, rule.Type, itemKey), SignalType: governance.SignalType(rule.Type),
			Priority: rules.PriorityOf(score), Actionability: rule.Actionability, DAOID: daoID,
			Title: hit.Title, Summary: hit.Summary, DeadlineAtMs: hit.DeadlineAt,
			Severity: hit.Severity, Evidence: evidence,
		},
		DetectedAt: hit.DetectedAt,
	}}
	for _, surface := range rules.SurfacesOf(score, hit.DeadlineAt != nil) {
		row.Surfaces = append(row.Surfaces, string(surface))
	}
	return row, nil
}

// facts returns what the rules on votes need. What the data does not support is left out: single ballots when
// totals are not their sums, results before the end without exact times, results of blocks that are not final, a
// closed vote when totals are not final.
func (p proposal) facts() rules.VoteFacts {
	stated := milestones(p.record)
	f := rules.VoteFacts{
		Title: p.record.Title, Choices: p.state.Choices, Verdicts: governance.Verdicts(p.record.VoteType, p.state.Choices), Outcome: p.state.Outcome,
		CreatedAt: p.record.CreatedAt, Onchain: p.record.Provider.IsOnchain(), ExecutedAt: stated[rules.ProposalExecuted],
		Single: p.isSingleChoice(), EarlierVotes: p.turnout.EarlierVotes, EarlierPowers: p.turnout.EarlierPowers, Before: map[time.Duration]rules.Result{},
	}
	p.addFindings(&f)
	// Rules need exact times: one of which only the day is known is left out.
	if !p.record.StartDayOnly {
		f.StartAt = p.record.StartAt
	}
	if !p.record.EndDayOnly {
		f.EndAt = p.record.EndAt
	}
	if f.OverAt = p.endedBy(stated); f.OverAt == nil && p.closedEarly() {
		f.OverAt = &p.record.ObservedAt
	}
	// A quorum of rejection that is missed is no shortcoming.
	if f.ByRejection = p.record.QuorumType == governance.QuorumOfRejection; !f.ByRejection {
		f.Quorum = p.record.NeededQuorum()
	}
	scores := p.finalScores()
	f.Final = rules.Result{Power: p.state.TotalPower, Counted: p.quorumPower(scores, p.state.TotalPower), Scores: scores}
	if p.state.TotalVotes != nil {
		f.Final.Votes = *p.state.TotalVotes
	}
	// Upstream may state a vote as over before its end: what follows is stored, and shown from then on.
	provisional := p.hasFlag(rules.Provisional)
	f.Closed = p.isSettled() && !provisional && p.state.TotalVotes != nil && f.EndAt != nil
	if provisional || !p.hasAllBallots() {
		return f
	}
	if !p.hasFlag(rules.BallotsUndated) && !p.hasFlag(rules.BallotsDayOnly) {
		for i, window := range windows() {
			f.Before[window] = p.interimResult(i)
		}
	}
	f.LargestBallots = p.largestBallots()
	return f
}

// isSingleChoice reports, by vote type and scores, whether each ballot gives its power to one choice. On a
// Governor, each part of a divided one counts as a ballot.
func (p proposal) isSingleChoice() bool {
	single := p.record.VoteType == "" || p.record.Provider.DecidesByMajority(p.record.VoteType)
	return single && len(p.state.Scores) > 0 &&
		decimal.Sum(decimal.Zero, p.finalScores()...).LessThanOrEqual(p.state.TotalPower)
}

func (p proposal) hasAllBallots() bool {
	return p.state.Basis == governance.BallotsBasis && !p.hasFlag(rules.BallotsPartial) && !p.hasFlag(rules.TotalsDisagree)
}

func (p proposal) isSettled() bool {
	return p.state.Settled && p.state.Lifecycle == governance.Closed && !p.hasFlag(rules.TotalsDisagree)
}

func (p proposal) reachedQuorum() bool {
	quorum, scores := p.record.NeededQuorum(), p.finalScores()
	if quorum == nil || !p.state.VoteReady || len(scores) == 0 && len(p.record.CountedChoices()) > 0 {
		return false
	}
	return p.record.QuorumType.IsReached(p.quorumPower(scores, p.state.TotalPower), *quorum)
}

func (p proposal) timesQuorum() bool {
	return p.hasAllBallots() && !p.hasFlag(rules.BallotsUndated) && p.reachedQuorum()
}

// statesQuorum reports whether only upstream's final totals tell that the quorum was reached, and not when.
func (p proposal) statesQuorum() bool {
	return p.state.Basis == governance.UpstreamBasis && p.isSettled() && p.record.EndAt != nil && p.reachedQuorum()
}

// quorumPower returns the power that counts towards the quorum; scores are in the order of the choices.
func (p proposal) quorumPower(scores []decimal.Decimal, power decimal.Decimal) decimal.Decimal {
	return governance.QuorumPower(p.record.CountedChoices(), power, func(choiceKey string) decimal.Decimal {
		if i := p.choiceIndex(choiceKey); i >= 0 && i < len(scores) {
			return scores[i]
		}
		return decimal.Zero
	})
}

func (p proposal) finalScores() []decimal.Decimal {
	return warehouse.Values(p.state.Scores, func(score governance.Score) decimal.Decimal { return score.Power })
}

// interimResult returns the result at the beginning of the i-th window, of final ballots that were cast by then.
func (p proposal) interimResult(i int) rules.Result {
	result := rules.Result{Scores: make([]decimal.Decimal, len(p.state.Choices))}
	for _, tally := range p.interim {
		result.Votes += tally.Votes[i]
		result.Power = result.Power.Add(tally.Powers[i])
		if index := p.choiceIndex(tally.Choice); index >= 0 {
			result.Scores[index] = tally.Powers[i]
		}
	}
	result.Counted = p.quorumPower(result.Scores, result.Power)
	return result
}

func (p proposal) choiceIndex(key string) int {
	return slices.IndexFunc(p.state.Choices, func(c governance.Choice) bool { return c.Key == key })
}

func (p proposal) largestBallots() []rules.LargestBallot {
	var largest []rules.LargestBallot
	for _, tally := range p.interim {
		if index := p.choiceIndex(tally.Choice); index >= 0 {
			largest = append(largest, rules.LargestBallot{
				Voter: tally.LargestVoter, Choice: index, Power: tally.Largest,
			})
		}
	}
	return largest
}
