package publish

import (
	"slices"
	"strings"

	"github.com/shopspring/decimal"

	"pnyx/governance"
	"pnyx/governance/rules"
)

// conflictsWithin returns the conflicts inside one provider's data: between what
// upstream states and what is held, and between two things that it states.
func (e *evaluation) conflictsWithin() []governance.Warning {
	return slices.Concat(e.votesConflict(), e.totalConflict(), e.scoreConflicts(), e.stateConflicts(), e.outcomeConflict())
}

// upstreamFlags says whether upstream's figures are not those of the same ballots.
func (e *evaluation) upstreamFlags() []governance.QualityFlag {
	more := e.holdsAll() && e.result.votes > *e.proposal.StatedVotes
	return raised(map[governance.QualityFlag]bool{
		rules.TotalsDifferUpstream: more || len(e.totalConflict()) > 0 || len(e.scoreConflicts()) > 0,
	})
}

// holdsAll says whether all ballots that upstream states are held.
func (e *evaluation) holdsAll() bool {
	stated := e.proposal.StatedVotes
	return e.result.ready && stated != nil && e.result.votes >= *stated
}

func (e *evaluation) votesConflict() []governance.Warning {
	stated := e.proposal.StatedVotes
	if !e.result.ready || stated == nil || *stated == e.result.votes {
		return nil
	}
	return one(rules.VotesDiffer, map[string]string{
		"upstream": string(governance.CountOf(*stated)), "held": string(governance.CountOf(e.result.votes)),
	})
}

// totalConflict compares the total. Whether ballots for nothing are part of it,
// upstream has not always answered alike.
func (e *evaluation) totalConflict() []governance.Warning {
	stated := e.proposal.StatedScoresTotal
	if stated == nil || !e.holdsAll() || !differ(*stated, e.result.power) || !differ(*stated, e.result.supporting) {
		return nil
	}
	return one(rules.TotalDiffers, map[string]string{
		"upstream": stated.String(), "held": e.result.power.String(),
	})
}

func (e *evaluation) scoreConflicts() []governance.Warning {
	stated := e.proposal.StatedScores
	if !e.holdsAll() || len(stated) != len(e.result.scores) {
		return nil
	}
	var conflicts []governance.Warning
	for i, score := range e.result.scores {
		if differ(stated[i], score.Power) {
			conflicts = append(conflicts, one(rules.ScoresDiffer, map[string]string{
				"choiceKey": e.result.choices[i].Key, "upstream": stated[i].String(), "held": score.Power.String(),
			})...)
		}
	}
	return conflicts
}

// differ says whether two amounts are further apart than floating point explains;
// see rules.WarningRules.
func differ(upstream, held decimal.Decimal) bool {
	larger := decimal.Max(upstream, held, decimal.NewFromInt(1))
	return upstream.Sub(held).Abs().GreaterThan(larger.Shift(-9))
}

// stateConflicts compares what upstream says of where the proposal stands.
func (e *evaluation) stateConflicts() []governance.Warning {
	p := e.proposal
	open := p.State == governance.UpstreamActive || p.State == governance.UpstreamPending
	var conflicts []governance.Warning
	if outcome, stated := governance.DAOStatusOutcome(p.UpstreamStatus); stated && p.State != "" {
		openThere := p.UpstreamStatus == governance.UpstreamActive || p.UpstreamStatus == governance.UpstreamPending
		if open != openThere && (openThere || outcome != governance.Unknown) {
			conflicts = one(rules.StatusDiffers, map[string]string{"state": p.State, "status": p.UpstreamStatus})
		}
	}
	// Where only the day is known, the vote may have ended at the end of it.
	if open && p.EndAt != nil && !p.EndDayOnly && *p.EndAt < p.ObservedAt {
		conflicts = append(conflicts, one(rules.StateOutdated, map[string]string{
			"state": p.State, "endAt": p.EndAt.String(), "observedAt": p.ObservedAt.String(),
		})...)
	}
	return conflicts
}

// outcomeConflict compares the outcome that upstream states with the count, where
// the status says how the vote went: one that was canceled, expired or lacked
// budget may have been won.
func (e *evaluation) outcomeConflict() []governance.Warning {
	p := e.proposal
	outcome, stated := governance.StatedOutcome(p.Provider, p.State, p.UpstreamStatus)
	votedOn := stated && (outcome == governance.Passed || outcome == governance.Executed ||
		p.State == "defeated" || p.UpstreamStatus == "rejected")
	if !votedOn || !e.result.decidable {
		return nil
	}
	counted := governance.Decide(e.result.choices, e.result.decisive, e.result.quorumReached)
	if counted == governance.Unknown || (counted == governance.Failed) == (outcome == governance.Failed) {
		return nil
	}
	return one(rules.OutcomeDiffersFromVotes, map[string]string{
		"stated": string(outcome), "counted": string(counted),
	})
}

// conflictsWith compares the proposal with itself at other providers.
func (e *evaluation) conflictsWith(counterparts []*evaluation) []governance.Warning {
	var conflicts []governance.Warning
	for _, other := range counterparts {
		here, there := e.proposal.Title, other.proposal.Title
		if here != "" && there != "" && plainTitle(here) != plainTitle(there) {
			conflicts = append(conflicts, e.conflictWith(other, rules.TitleDiffers, here, there))
		}
		if outcomesDiffer(e.outcome, other.outcome) {
			conflicts = append(conflicts, e.conflictWith(other, rules.OutcomeDiffers, string(e.outcome), string(other.outcome)))
		}
	}
	return conflicts
}

func (e *evaluation) conflictWith(
	other *evaluation, code governance.WarningCode, here, there string,
) governance.Warning {
	return rules.NewWarning(code, map[string]string{
		"proposalKey": string(other.key), "provider": string(other.identity.Provider), "here": here, "there": there,
	})
}

// plainTitle is a title without what providers change about one: case, space and
// the marks around it.
func plainTitle(title string) string {
	return strings.ToLower(strings.Join(strings.Fields(strings.Trim(title, "#*_ ")), " "))
}

// outcomesDiffer compares known outcomes. A vote that passed on Snapshot is
// executed on chain.
func outcomesDiffer(here, there governance.Outcome) bool {
	if here == governance.Unknown || there == governance.Unknown {
		return false
	}
	if here == governance.Executed {
		here = governance.Passed
	}
	if there == governance.Executed {
		there = governance.Passed
	}
	return here != there
}

func one(code governance.WarningCode, details map[string]string) []governance.Warning {
	return []governance.Warning{rules.NewWarning(code, details)}
}
