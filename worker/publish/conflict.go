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
	return slices.Concat(e.ballotConflicts(), e.stateConflicts(), e.outcomeConflict())
}

// upstreamFlags says whether upstream's figures do not follow from the same ballots.
func (e *evaluation) upstreamFlags() []governance.QualityFlag {
	stated := e.proposal.StatedVotes
	more := e.result.ready() && stated != nil && e.ballots.Votes > *stated
	differs := func(w governance.Warning) bool { return w.Code == rules.TotalDiffers || w.Code == rules.ScoresDiffer }
	return raised(map[governance.QualityFlag]bool{
		rules.TotalsDifferUpstream: more || slices.ContainsFunc(e.conflicts, differs),
	})
}

// ballotConflicts compares stored ballots with what upstream states: their sums only where there are at least as many.
func (e *evaluation) ballotConflicts() (found []governance.Warning) {
	p, votes, total := e.proposal, e.proposal.StatedVotes, e.proposal.StatedScoresTotal
	held := string(governance.CountOf(e.ballots.Votes))
	if p.LacksBallots && e.result.coverage != governance.Complete {
		found = append(found, rules.NewWarning(rules.BallotsRejected, map[string]string{"held": held}))
	}
	if !e.result.ready() {
		return found
	}
	if votes != nil && *votes != e.ballots.Votes {
		found = append(found, rules.NewWarning(rules.VotesDiffer, map[string]string{
			"upstream": string(governance.CountOf(*votes)), "held": held,
		}))
	}
	if votes == nil && !p.Provider.HasEveryBallot() || votes != nil && e.ballots.Votes < *votes {
		return found
	}
	if total != nil && e.result.totalDiffers(p) {
		found = append(found, rules.NewWarning(rules.TotalDiffers, map[string]string{
			"upstream": total.String(), "held": e.ballots.Power.String(),
		}))
	}
	for _, i := range e.result.scoresThatDiffer(p) {
		found = append(found, rules.NewWarning(rules.ScoresDiffer, map[string]string{
			"choiceKey": e.result.choices[i].Key,
			"upstream":  p.StatedScores[i].String(), "held": e.result.counted[i].Power.String(),
		}))
	}
	return found
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
		return []governance.Warning{rules.NewWarning(rules.StateUnknown, map[string]string{"state": p.State})}
	}
	if outcome, stated := governance.DAOStatusOutcome(p.UpstreamStatus); stated && p.State != "" {
		openThere := isOpen(p.UpstreamStatus)
		if isOpen(p.State) != openThere && (openThere || outcome != governance.Unknown) {
			conflicts = append(conflicts, rules.NewWarning(rules.StatusDiffers, map[string]string{
				"state": p.State, "status": p.UpstreamStatus,
			}))
		}
	}
	// Where only the day of the end is known, the vote may have ended late on that day.
	if isOpen(p.State) && p.EndAt != nil && !p.EndDayOnly && *p.EndAt < p.ObservedAt {
		conflicts = append(conflicts, rules.NewWarning(rules.StateOutdated, map[string]string{
			"state": p.State, "endAt": p.EndAt.String(), "observedAt": p.ObservedAt.String(),
		}))
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
	return []governance.Warning{rules.NewWarning(rules.OutcomeDiffersFromVotes, map[string]string{
		"stated": string(outcome), "counted": string(counted),
	})}
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
