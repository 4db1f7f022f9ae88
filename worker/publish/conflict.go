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
func (a *assessment) conflictsWithin() []governance.Warning {
	return slices.Concat(a.votesConflict(), a.totalConflict(), a.scoreConflicts(), a.stateConflicts(), a.outcomeConflict())
}

// upstreamFlags says whether upstream's figures are not those of the same ballots.
func (a *assessment) upstreamFlags() []governance.QualityFlag {
	more := a.holdsAll() && a.count.votes > *a.proposal.StatedVotes
	return raised(map[governance.QualityFlag]bool{
		rules.TotalsDifferUpstream: more || len(a.totalConflict()) > 0 || len(a.scoreConflicts()) > 0,
	})
}

// holdsAll says whether all ballots that upstream states are held.
func (a *assessment) holdsAll() bool {
	stated := a.proposal.StatedVotes
	return a.count.ready && stated != nil && a.count.votes >= *stated
}

func (a *assessment) votesConflict() []governance.Warning {
	stated := a.proposal.StatedVotes
	if !a.count.ready || stated == nil || *stated == a.count.votes {
		return nil
	}
	return one(rules.VotesDiffer, map[string]string{
		"upstream": string(governance.CountOf(*stated)), "held": string(governance.CountOf(a.count.votes)),
	})
}

// totalConflict compares the total. Whether ballots for nothing are part of it,
// upstream has not always answered alike.
func (a *assessment) totalConflict() []governance.Warning {
	stated := a.proposal.StatedScoresTotal
	if stated == nil || !a.holdsAll() || !differ(*stated, a.count.power) || !differ(*stated, a.count.supporting) {
		return nil
	}
	return one(rules.TotalDiffers, map[string]string{
		"upstream": stated.String(), "held": a.count.power.String(),
	})
}

func (a *assessment) scoreConflicts() []governance.Warning {
	stated := a.proposal.StatedScores
	if !a.holdsAll() || len(stated) != len(a.count.scores) {
		return nil
	}
	var conflicts []governance.Warning
	for i, score := range a.count.scores {
		if differ(stated[i], score.Power) {
			conflicts = append(conflicts, one(rules.ScoresDiffer, map[string]string{
				"choiceKey": a.count.choices[i].Key, "upstream": stated[i].String(), "held": score.Power.String(),
			})...)
		}
	}
	return conflicts
}

// differ says whether two amounts are further apart than floating point explains;
// see governance.WarningRules.
func differ(upstream, held decimal.Decimal) bool {
	larger := decimal.Max(upstream, held, decimal.NewFromInt(1))
	return upstream.Sub(held).Abs().GreaterThan(larger.Shift(-9))
}

// stateConflicts compares what upstream says of where the proposal stands.
func (a *assessment) stateConflicts() []governance.Warning {
	p := a.proposal
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
func (a *assessment) outcomeConflict() []governance.Warning {
	p := a.proposal
	outcome, stated := governance.StatedOutcome(p.Provider, p.State, p.UpstreamStatus)
	votedOn := stated && (outcome == governance.Passed || outcome == governance.Executed ||
		p.State == "defeated" || p.UpstreamStatus == "rejected")
	if !votedOn || !a.count.decidable {
		return nil
	}
	counted := governance.Decide(a.count.choices, a.count.decisive, a.count.quorumReached)
	if counted == governance.Unknown || (counted == governance.Failed) == (outcome == governance.Failed) {
		return nil
	}
	return one(rules.OutcomeDiffersFromVotes, map[string]string{
		"stated": string(outcome), "counted": string(counted),
	})
}

// conflictsWith compares the proposal with itself at other providers.
func (a *assessment) conflictsWith(counterparts []*assessment) []governance.Warning {
	var conflicts []governance.Warning
	for _, other := range counterparts {
		here, there := a.proposal.Title, other.proposal.Title
		if here != "" && there != "" && plainTitle(here) != plainTitle(there) {
			conflicts = append(conflicts, a.conflictWith(other, rules.TitleDiffers, here, there))
		}
		if outcomesDiffer(a.outcome, other.outcome) {
			conflicts = append(conflicts, a.conflictWith(other, rules.OutcomeDiffers, string(a.outcome), string(other.outcome)))
		}
	}
	return conflicts
}

func (a *assessment) conflictWith(
	other *assessment, code governance.WarningCode, here, there string,
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
