package query

import "pnyx/governance"

// DelegateOrder is an order of a DAO's delegates.
type DelegateOrder string

// The orders of delegates: the greatest first, delegates of whom it is not known last, then by voter
// and by token or registry, ascending.
const (
	DelegatesByPower      DelegateOrder = "power"
	DelegatesByDelegators DelegateOrder = "delegators"
	// DelegatesByActivity counts the ballots in the latest votes.
	DelegatesByActivity DelegateOrder = "activity"
)

// Delegates selects delegates of one DAO.
type Delegates struct {
	DAOID string        `param:"daoId" in:"path" doc:"The DAO." example:"uniswap"`
	Order DelegateOrder `param:"order" default:"power" doc:"Highest power, most delegators, or most ballots in the last 50 votes first." example:"activity"`

	Paging[DelegatePosition] `default:"25" max:"100"`
}

// Kind implements Page: tokens state power in most blocks, and only time makes a page stale.
func (Delegates) Kind() Kind { return KindDelegates }

// DelegatePosition is a place in an order of delegates.
type DelegatePosition struct {
	// Value is what the order compares; nil where that is not known.
	Value    *governance.Decimal `msgpack:"n,omitempty"`
	Delegate string              `msgpack:"k"`
	// Where is the token or the registry with the space.
	Where string `msgpack:"s"`
}

// PositionOf returns the place of a delegate in the order.
func (q Delegates) PositionOf(d governance.Delegate) DelegatePosition {
	value := d.VotingPower
	switch q.Order {
	case DelegatesByDelegators:
		value = d.Delegators
	case DelegatesByActivity:
		value = &d.BallotsOfLast50.Cast
	case DelegatesByPower:
	}
	return DelegatePosition{Value: value, Delegate: d.VoterIdentity, Where: d.DelegationScope.String()}
}

// DelegationDirection says on which side of delegations a voter is.
type DelegationDirection string

// The directions.
const (
	DelegationsGiven    DelegationDirection = "given"
	DelegationsReceived DelegationDirection = "received"
)

// VoterDelegations selects delegations of one voter that apply now: the newest first, those without
// a time last, delegations of one time by token or registry, delegator and delegate.
type VoterDelegations struct {
	Voter     Voter               `param:"voterIdentity" in:"path" doc:"The voter; the case of a 0x… address does not matter." example:"0x0000000000000000000000000000000000000001"`
	Direction DelegationDirection `param:"direction" doc:"Only what the voter has given to delegates, or received." example:"received"`
	DAOID     string              `param:"daoId" doc:"Only delegations in this DAO." example:"uniswap"`

	Paging[VoterDelegationPosition] `default:"50" max:"100"`
}

// Kind implements Page; see Profile.
func (VoterDelegations) Kind() Kind { return KindVoterDelegations }

// VoterDelegationPosition is a place in the list of a voter's delegations.
type VoterDelegationPosition struct {
	// Since is when the delegation was stated; nil where that is unknown.
	Since *governance.Timestamp `msgpack:"t,omitempty"`
	// Where is the token or the registry with the space, Delegator and Delegate are the two sides.
	Where     string `msgpack:"s"`
	Delegator string `msgpack:"f"`
	Delegate  string `msgpack:"k"`
}

// PositionOf returns the place of a delegation in the list.
func (VoterDelegations) PositionOf(d governance.VoterDelegation) VoterDelegationPosition {
	return VoterDelegationPosition{Since: d.Since, Where: d.DelegationScope.String(), Delegator: d.Delegator, Delegate: d.Delegate}
}

// OpenVotes selects open votes of one voter: the nearest deadline first, those without one last,
// votes of one deadline by proposal key.
type OpenVotes struct {
	Voter Voter  `param:"voterIdentity" in:"path" doc:"The voter; the case of a 0x… address does not matter." example:"0x0000000000000000000000000000000000000001"`
	DAOID string `param:"daoId" doc:"Only votes in this DAO." example:"uniswap"`

	Paging[OpenVotePosition] `default:"50" max:"100"`
}

// Kind implements Page; see Profile.
func (OpenVotes) Kind() Kind { return KindOpenVotes }

// OpenVotePosition is a place in the list of open votes.
type OpenVotePosition struct {
	// EndAt is the deadline; nil where that is unknown.
	EndAt    *governance.Timestamp  `msgpack:"t,omitempty"`
	Proposal governance.ProposalKey `msgpack:"k"`
}

// PositionOf returns the place of a vote in the list.
func (OpenVotes) PositionOf(v governance.OpenVote) OpenVotePosition {
	return OpenVotePosition{EndAt: v.EndAt, Proposal: v.Proposal.ProposalKey}
}
