package governance

import "strings"

// LastVotes is of how many of a DAO's latest votes a ranking of delegates counts the ballots.
const LastVotes = 50

// DelegationScope says where delegated power applies: of a token or, without one, a space of a registry.
type DelegationScope struct {
	// Token is the token, eip155:<chain>:<address>; null for a registry.
	Token *string `json:"token" msgpack:"token"`
	// Registry is the registry of delegations, eip155:<chain>:<address>; null for a token.
	Registry *string `json:"registry" msgpack:"registry"`
	// Space is the space of the registry; null for a token, and for a delegation in every space.
	Space *string `json:"space" msgpack:"space"`
}

// ScopeOf reads a scope in the form of records: a token, or a registry, a slash and a space.
func ScopeOf(text string) DelegationScope {
	contract, space, registry := strings.Cut(text, "/")
	switch {
	case !registry:
		return DelegationScope{Token: &contract}
	case space == "":
		return DelegationScope{Registry: &contract}
	}
	return DelegationScope{Registry: &contract, Space: &space}
}

// String returns the scope in the form of records.
func (s DelegationScope) String() string {
	switch {
	case s.Token != nil:
		return *s.Token
	case s.Registry == nil:
		return ""
	case s.Space == nil:
		return *s.Registry + "/"
	}
	return *s.Registry + "/" + *s.Space
}

// Delegate is one row of a DAO's ranking of delegates.
type Delegate struct {
	// Rank is the place in the order that was asked for, from 1.
	Rank uint64 `json:"rank" msgpack:"rank"`
	// VoterIdentity is the delegate, see VoterIdentity.
	VoterIdentity string `json:"voterIdentity" msgpack:"voterIdentity"`
	// VoterName is the delegate's name; null where none is known.
	VoterName *VoterName `json:"voterName" msgpack:"voterName"`
	DelegationScope
	// VotingPower is the delegate's now, in whole tokens, as the token states it; null where that is not
	// known: a registry states no balances.
	VotingPower *Decimal `json:"votingPower" msgpack:"votingPower"`
	// Delegators is the number of holders who delegate now; null where delegations are not known.
	Delegators *Decimal `json:"delegators" msgpack:"delegators"`
	// ShareOfSupply is VotingPower ÷ the supply of the token, cut at six decimal places; null where either
	// is not known.
	ShareOfSupply *Decimal `json:"shareOfSupply" msgpack:"shareOfSupply"`
	// BallotsOfLast50 counts the delegate's ballots in the DAO's latest votes.
	BallotsOfLast50 BallotsOfLast `json:"ballotsOfLast50" msgpack:"ballotsOfLast50"`
	// LastVoteAt is the time of the delegate's latest ballot in the DAO; null where unknown.
	LastVoteAt *Timestamp `json:"lastVoteAt" msgpack:"lastVoteAt"`
}

// BallotsOfLast counts ballots of one voter in the latest votes that are over and of which ballots are held.
type BallotsOfLast struct {
	// Cast is the number of votes with a ballot of the voter.
	Cast Decimal `json:"cast" msgpack:"cast"`
	// Of is the number of votes, at most LastVotes.
	Of Decimal `json:"of" msgpack:"of"`
}

// DelegatedPower is what a voter may vote with for others in one DAO now.
type DelegatedPower struct {
	// DAOID is the id of the DAO; null where no DAO is known to use the token or the space.
	DAOID *string `json:"daoId" msgpack:"daoId"`
	DelegationScope
	// VotingPower, Delegators and ShareOfSupply are as in Delegate.
	VotingPower   *Decimal `json:"votingPower" msgpack:"votingPower"`
	Delegators    *Decimal `json:"delegators" msgpack:"delegators"`
	ShareOfSupply *Decimal `json:"shareOfSupply" msgpack:"shareOfSupply"`
}

// VoterDelegation is one row of a voter's delegations: a delegation that applies now.
type VoterDelegation struct {
	// DAOIDs are the DAOs that use the token or the space; empty where none is known.
	DAOIDs []string `json:"daoIds" msgpack:"daoIds"`
	DelegationScope
	// Delegator is the holder, Delegate who votes for the holder.
	Delegator string `json:"delegatorIdentity" msgpack:"delegatorIdentity"`
	Delegate  string `json:"delegateIdentity" msgpack:"delegateIdentity"`
	// DelegatorName and DelegateName are their names; null where none is known.
	DelegatorName *VoterName `json:"delegatorName" msgpack:"delegatorName"`
	DelegateName  *VoterName `json:"delegateName" msgpack:"delegateName"`
	// Share is the part that is delegated, 1 for everything.
	Share Decimal `json:"share" msgpack:"share"`
	// Since is when the holder stated it; null where the time is not known.
	Since *Timestamp `json:"since" msgpack:"since"`
	// SinceBlock is the block of the statement.
	SinceBlock Decimal `json:"sinceBlock" msgpack:"sinceBlock"`
}

// PowerBasis says how the power in an open vote is known.
type PowerBasis string

// The bases of power.
const (
	// PowerAtStart is as of the block at which the vote began, as the token states it.
	PowerAtStart PowerBasis = "start"
	// PowerUnknown is power that is not known before a ballot states it.
	PowerUnknown PowerBasis = "unknown"
)

// OpenVote is an open vote in which a voter has power and has not voted.
type OpenVote struct {
	// DAOID is the id of the DAO.
	DAOID string `json:"daoId" msgpack:"daoId"`
	// Proposal identifies the proposal.
	Proposal VotedProposal `json:"proposal" msgpack:"proposal"`
	// EndAt is the deadline; null where unknown.
	EndAt *Timestamp `json:"endAt" msgpack:"endAt"`
	// VotingPower is the voter's, delegated power included; null where it is not known.
	VotingPower *Decimal `json:"votingPower" msgpack:"votingPower"`
	// PowerBasis says how VotingPower is known.
	PowerBasis PowerBasis `json:"powerBasis" msgpack:"powerBasis"`
	// AsDelegate is true if others delegate to the voter in the DAO now.
	AsDelegate bool `json:"asDelegate" msgpack:"asDelegate"`
}
