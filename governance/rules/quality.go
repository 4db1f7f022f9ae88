package rules

import "pnyx/governance"

// The quality flags of a proposal; QualityFlags describes them.
const (
	TitleMissing         governance.QualityFlag = "title_missing"
	TitleDerived         governance.QualityFlag = "title_derived"
	BodyMissing          governance.QualityFlag = "body_missing"
	TimesMissing         governance.QualityFlag = "times_missing"
	TimesDayOnly         governance.QualityFlag = "times_day_only"
	TimesReversed        governance.QualityFlag = "times_reversed"
	LifecycleAssumed     governance.QualityFlag = "lifecycle_assumed"
	ChoicesDerived       governance.QualityFlag = "choices_derived"
	ScoresUnavailable    governance.QualityFlag = "scores_unavailable"
	OutcomeDerived       governance.QualityFlag = "outcome_derived"
	BallotsMissing       governance.QualityFlag = "ballots_missing"
	BallotsPartial       governance.QualityFlag = "ballots_partial"
	BallotsUndated       governance.QualityFlag = "ballots_undated"
	BallotsDayOnly       governance.QualityFlag = "ballots_day_only"
	BallotsInvalid       governance.QualityFlag = "ballots_invalid"
	RecastsPresent       governance.QualityFlag = "recasts_present"
	PowerRounded         governance.QualityFlag = "power_rounded"
	TotalsDifferUpstream governance.QualityFlag = "totals_differ_upstream"
	TotalsFromUpstream   governance.QualityFlag = "totals_from_upstream"
	TotalsDisagree       governance.QualityFlag = "totals_disagree"
	TotalsRecounted      governance.QualityFlag = "totals_recounted"
	Provisional          governance.QualityFlag = "provisional"
	Flagged              governance.QualityFlag = "flagged"
)

// QualityRule describes when a flag is set.
type QualityRule struct {
	// Flag is the value in qualityFlags.
	Flag governance.QualityFlag
	// Meaning is one sentence for readers.
	Meaning string
}

// QualityFlags lists every quality flag.
func QualityFlags() []QualityRule {
	return []QualityRule{
		{TitleMissing, "Upstream states no title."},
		{TitleDerived, "The title is the first heading of the text, or its first 80 characters."},
		{BodyMissing, "Upstream states no text."},
		{TimesMissing, "Neither start nor end is known."},
		{TimesDayOnly, "Of start or end only the day is known."},
		{TimesReversed, "The stated end is before the stated start."},
		{LifecycleAssumed, "Neither times nor state are known: the proposal counts as closed."},
		{ChoicesDerived, "Upstream states no choices: they are derived from ballots and scores."},
		{ScoresUnavailable, "Upstream states no scores, and they cannot be counted here: ballots are missing, the vote has a type " +
			"that only upstream counts, or its ballots rank too much."},
		{OutcomeDerived, "The outcome follows from scores and quorum; upstream states none."},
		{BallotsMissing, "No ballot is stored, and upstream does not state that there are none."},
		{BallotsPartial, "Ballots are stored, but upstream states more."},
		{BallotsUndated, "Some ballots that count have no time."},
		{BallotsDayOnly, "Of some ballots that count only the day is known."},
		{BallotsInvalid, "Upstream calls some ballots invalid: they name choices that do not exist, or rank a part of them. They support no choice."},
		{RecastsPresent, "Some voters voted more than once: their latest ballots count."},
		{PowerRounded, "Some ballots that count had more than 18 decimal places upstream, and were rounded."},
		{TotalsDifferUpstream, "All ballots that upstream states are stored, but their number, total or scores differ from what " +
			"upstream states."},
		{TotalsFromUpstream, "The totals are those that upstream states for the vote as a whole: they differ from the ballots that are " +
			"held."},
		{TotalsDisagree, "The scores do not sum to the ballots: the last consistent numbers are shown, or none."},
		{TotalsRecounted, "Totals that were published before differed from a recount of all ballots, which replaced them."},
		{Provisional, "A block that is not final states something of the proposal or its ballots, or the totals are those that " +
			"upstream states while the vote goes on: it may still change."},
		{Flagged, "The provider marks the proposal or its space as spam: it is in no list unless asked for, and in no sum, ranking, event or signal."},
	}
}
