package governance

import "cmp"

// Lifecycle is the lifecycle status of a proposal: pending, then active, then closed.
type Lifecycle string

// The states of a proposal's life.
const (
	Pending Lifecycle = "pending"
	Active  Lifecycle = "active"
	Closed  Lifecycle = "closed"
)

// Outcome is the result of a proposal. It is Unknown until the proposal is decided, and
// afterwards where neither upstream nor a known rule determines it.
type Outcome string

// The outcomes of a proposal.
const (
	Passed   Outcome = "passed"
	Failed   Outcome = "failed"
	Executed Outcome = "executed"
	Canceled Outcome = "canceled"
	Unknown  Outcome = "unknown"
)

// Coverage says how much of the upstream data is stored.
type Coverage string

// The degrees of coverage.
const (
	Complete            Coverage = "complete"
	Partial             Coverage = "partial"
	Backfilling         Coverage = "backfilling"
	CoverageUnavailable Coverage = "unavailable"
)

// Coverages lists every Coverage.
func Coverages() []Coverage { return []Coverage{Complete, Partial, Backfilling, CoverageUnavailable} }

// VoteCoverage says how many of the upstream ballots are stored.
type VoteCoverage string

// The degrees of vote coverage.
const (
	VotesReady       VoteCoverage = "ready"
	VotesPartial     VoteCoverage = "partial"
	VotesBackfilling VoteCoverage = "backfilling"
	VotesUnavailable VoteCoverage = "unavailable"
)

// OfBallots returns the coverage of ballots as answers state it that are made of them.
func (c Coverage) OfBallots() VoteCoverage {
	if c == Complete {
		return VotesReady
	}
	return VoteCoverage(cmp.Or(c, Partial)) // the others have one name in both
}

// Readiness says how far an answer may be relied on.
type Readiness string

// The values of meta.readiness.status.
const (
	// Ready is an answer made from all that has been imported.
	Ready Readiness = "ready"
	// ReadinessBackfilling is an answer while its data is still being imported.
	ReadinessBackfilling Readiness = "backfilling"
	// Stale is the last good answer, while newer data cannot be published.
	Stale Readiness = "stale"
	// ReadinessUnavailable is an answer about data that is not stored.
	ReadinessUnavailable Readiness = "unavailable"
)

// Readinesses lists the values of meta.readiness.status.
func Readinesses() []Readiness {
	return []Readiness{Ready, ReadinessBackfilling, Stale, ReadinessUnavailable}
}

// VoteType is how a ballot on a proposal is filled in and counted.
type VoteType string

// The vote types of Snapshot; a Governor's ballots count as SingleChoice. The
// empty VoteType is one that upstream did not state.
const (
	SingleChoice VoteType = "single-choice"
	Basic        VoteType = "basic"
	Approval     VoteType = "approval"
	RankedChoice VoteType = "ranked-choice"
	Weighted     VoteType = "weighted"
	Quadratic    VoteType = "quadratic"
	Copeland     VoteType = "copeland"
)
