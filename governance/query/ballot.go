package query

import "pnyx/governance"

// BallotOrder is an order of a proposal's ballots.
type BallotOrder string

// The orders of ballots, each ending in the voter, descending.
const (
	BallotsByPower BallotOrder = "power"
	// BallotsByTime lists the newest ballots first, those without a time last.
	BallotsByTime BallotOrder = "time"
)

// Ballots selects ballots of one proposal.
type Ballots struct {
	Proposal governance.ProposalKey `param:"proposalKey" in:"path" doc:"The proposal's key." example:"p1_AAAAAAAAAAAAAAAAAAAAAA"`
	Order    BallotOrder            `param:"order" default:"power" doc:"Highest power first, or newest first." example:"time"`

	Paging[BallotPosition] `default:"100" max:"500"`
}

// Kind implements Page.
func (Ballots) Kind() Kind { return KindBallots }

// Scope implements Versioned.
func (q Ballots) Scope() Scope { return Scope{KindBallots, string(q.Proposal)} }

// BallotPosition is a place in an order of ballots.
type BallotPosition struct {
	// Power is the voting power in BallotsByPower, and empty in other orders.
	Power governance.Decimal `msgpack:"p,omitempty"`
	// At is when the ballot was cast in BallotsByTime, nil where that is unknown.
	At    *governance.Timestamp `msgpack:"t,omitempty"`
	Voter string                `msgpack:"k"`
}

// PositionOf returns the place of a ballot in the order.
func (q Ballots) PositionOf(ballot governance.Ballot) BallotPosition {
	if q.Order == BallotsByTime {
		return BallotPosition{At: ballot.VotedAt, Voter: ballot.VoterIdentity}
	}
	return BallotPosition{Power: ballot.VotingPower, Voter: ballot.VoterIdentity}
}
