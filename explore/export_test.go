package explore

import "pnyx/governance"

// Short and Percent are what pages show of numbers.
var (
	Short   = short
	Percent = percent
	Number  = number
	TokenOf = token
	Ends    = ends
)

// Curve is the course of a vote.
type Curve = curve

// NewCurve returns the curve of the ballots of a proposal.
func NewCurve(proposal governance.ProposalDetail, summary governance.VoteSummary, ballots []governance.Ballot, asOf governance.Timestamp) *Curve {
	return newCurve(curveInput{proposal: proposal, summary: summary, ballots: ballots, asOf: asOf, whole: true})
}
