package publish

import (
	"slices"
	"strings"

	"github.com/shopspring/decimal"

	"pnyx/governance"
	"pnyx/governance/rules"
)

// conflictsWithin returns what is at odds in one provider's data: statements with ballots, or with each other.
func (e *evaluation) conflictsWithin() []governance.Warning {
	return slices.Concat(
		e.rejectsConflict(), e.votesConflict(), e.totalConflict(), e.scoreConflicts(), e.stateConflicts(), e.outcomeConflict())
}

// upstreamFlags says whether upstream's figures do not follow from the same ballots.
func (e *evaluation) upstreamFlags() []governance.QualityFlag {
	stated := e.proposal.StatedVotes
	more := e.result.ready() && stated != nil && e.ballots.Votes > *stated
	return raised(map[governance.QualityFlag]bool{
		rules.TotalsDifferUpstream: more || len(e.totalConflict()) > 0 || len(e.scoreConflicts()) > 0,
	})
}

// hasAllBallots reports whether as many ballots are stored as upstream states: only then, figures are compared.
func (e *evaluation) hasAllBallots() bool {
	stated := e.proposal.StatedVotes
	if stated == nil {
		return e.result.ready() && e.proposal.Provider.HasEveryBallot()
	}
	return e.result.ready() && e.ballots.Votes >= *stated
}

func (e *evaluation) rejectsConflict() []governance.Warning {
	if !e.proposal.LacksBallots || e.result.coverage == governance.Complete {
		return nil
	}
	return warning(rules.BallotsRejected, map[string]string{"held": string(governance.CountOf(e.ballots.Votes))})
}

func (e *evaluation) votesConflict() []governance.Warning {
	stated := e.proposal.StatedVotes
	if !e.result.ready() || stated == nil || *stated == e.ballots.Votes {
		return nil
	}
	return warning(rules.VotesDiffer, map[string]string{
		"upstream": string(governance.CountOf(*stated)),
		"held":     string(governance.CountOf(e.ballots.Votes)),
	})
}

func (e *evaluation) totalConflict() []governance.Warning {
	stated := e.proposal.StatedScoresTotal
	if stated == nil || !e.hasAllBallots() || !e.result.totalDiffers(e.proposal) {
		return nil
	}
	return warning(rules.TotalDiffers, map[string]string{
		"upstream": stated.String(), "held": e.ballots.Power.String(),
	})
}

func (e *evaluation) scoreConflicts() []governance.Warning {
	if !e.hasAllBallots() {
		return nil
	}
	var conflicts []governance.Warning
	for _, i := range e.result.scoresThatDiffer(e.proposal) {
		conflicts = append(conflicts, warning(rules.ScoresDiffer, map[string]string{
			"choiceKey": e.result.choices[i].Key,
			"upstream":  e.proposal.StatedScores[i].String(), "held": e.result.counted[i].Power.String(),
		})...)
	}
	return conflicts
}

// differ reports whether amounts differ in upstream's precision: floating point of Snapshot is off by up to 10⁻⁹.
func differ(p governance.Provider, upstream, stored decimal.Decimal) bool {
	if p.IsOnchain() {
		return !upstream.Equal(stored)
	}
	larger := decimal.Max(upstream, stored, decimal.NewFromInt(1))
	return upstream.Sub(stored).Abs().GreaterThan(larger.Shift(-9))
}

func (e *evaluation) stateConflicts() []governance.Warning {
	p := e.proposal
	isOpen := governance.IsOpenState
	var conflicts []governance.Warning
	if !governance.IsKnownState(p.State) {
		return warning(rules.StateUnknown, map[string]string{"state": p.State})
	}
	if outcome, stated := governance.DAOStatusOutcome(p.UpstreamStatus); stated && p.State != "" {
		openThere := isOpen(p.UpstreamStatus)
		if isOpen(p.State) != openThere && (openThere || outcome != governance.Unknown) {
			conflicts = warning(rules.StatusDiffers, map[string]string{
				"state": p.State, "status": p.UpstreamStatus,
			})
		}
	}
	// Where only the day of the end is known, the vote may have ended late on that day.
	if isOpen(p.State) && p.EndAt != nil && !p.EndDayOnly && *p.EndAt < p.ObservedAt {
		conflicts = append(conflicts, warning(rules.StateOutdated, map[string]string{
			"state": p.State, "endAt": p.EndAt.String(), "observedAt": p.ObservedAt.String(),
		})...)
	}
	return conflicts
}

// outcomeConflict compares the stated outcome with the result where it states how the vote went: one that was
// canceled, expired or lacked budget may have been won.
func (e *evaluation) outcomeConflict() []governance.Warning {
	p := e.proposal
	outcome, stated := p.Provider.StatedOutcome(p.State, p.UpstreamStatus)
	votedOn := stated && (outcome == governance.Passed || outcome == governance.Executed ||
		p.State == "defeated" || p.UpstreamStatus == "rejected")
	if !votedOn {
		return nil
	}
	counted := e.result.decide(p)
	agree := (counted == governance.Failed) == (outcome == governance.Failed)
	if counted == governance.Unknown || agree {
		return nil
	}
	return warning(rules.OutcomeDiffersFromVotes, map[string]string{
		"stated": string(outcome), "counted": string(counted),
	})
}

func (e *evaluation) conflictsWith(counterparts []*evaluation) []governance.Warning {
	var conflicts []governance.Warning
	for _, other := range counterparts {
		here, there := e.proposal.Title, other.proposal.Title
		stated := here != "" && there != "" && !e.proposal.TitleDerived && !other.proposal.TitleDerived
		if stated && plainTitle(here) != plainTitle(there) {
			conflicts = append(conflicts, e.conflictWith(other, rules.TitleDiffers, here, there))
		}
		if outcomesDiffer(e.outcome, other.outcome) {
			here, there := string(e.outcome), string(other.outcome)
			conflicts = append(conflicts, e.conflictWith(other, rules.OutcomeDiffers, here, there))
		}
	}
	return conflicts
}

func (e *evaluation) conflictWith(other *evaluation, code governance.WarningCode, here, there string) governance.Warning {
	return rules.NewWarning(code, map[string]string{
		"proposalKey": string(other.key), "provider": string(other.identity.Provider),
		"here": here, "there": there,
	})
}

// plainTitle removes what providers change about a title: case, space and the marks around it.
func plainTitle(title string) string {
	return strings.ToLower(strings.Join(strings.Fields(strings.Trim(title, "#*_ ")), " "))
}

// outcomesDiffer compares outcomes, if both are known. What passes on Snapshot is executed on chain.
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

func warning(code governance.WarningCode, details map[string]string) []governance.Warning {
	return []governance.Warning{rules.NewWarning(code, details)}
}
