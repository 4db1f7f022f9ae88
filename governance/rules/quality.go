package rules

import (
	"slices"

	"pnyx/governance"
)

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

// LackBallots reports whether flags say that ballots may be missing: a voter without one may have voted.
func LackBallots(flags []governance.QualityFlag) bool {
	return slices.Contains(flags, BallotsPartial) || slices.Contains(flags, BallotsMissing)
}

// AreLowerBounds reports whether flags say that votes and power are sums of ballots of which some may be missing.
func AreLowerBounds(flags []governance.QualityFlag) bool {
	return LackBallots(flags) && !slices.Contains(flags, TotalsFromUpstream)
}

// QualityRule describes when a flag is set.
type QualityRule struct {
	Flag    governance.QualityFlag
	Meaning string
}

// QualityFlags lists every quality flag.
var QualityFlags = table[QualityRule]("quality_flags.json") //nolint:gochecknoglobals // a constant that Go cannot write as one
