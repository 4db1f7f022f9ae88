package governance

import "strings"

// LastVotes is of how many of a DAO's latest votes a ranking of delegates counts the ballots.
const LastVotes = 50

// DelegationScope says where delegated power applies: of a token or, without one, a space of a registry.
type DelegationScope struct {
	// Token is the token, eip155:<chain>:<address>; null for a registry.
	Token    *string `json:"token" msgpack:"token"`
	Registry *string `json:"registry" msgpack:"registry"`
	Space    *string `json:"space" msgpack:"space"`
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
	Rank          uint64     `json:"rank" msgpack:"rank"`
	VoterIdentity string     `json:"voterIdentity" msgpack:"voterIdentity"`
	VoterName     *VoterName `json:"voterName" msgpack:"voterName"`
	DelegationScope
	VotingPower     *Decimal      `json:"votingPower" msgpack:"votingPower"`
	Delegators      *Decimal      `json:"delegators" msgpack:"delegators"`
	ShareOfSupply   *Decimal      `json:"shareOfSupply" msgpack:"shareOfSupply"`
	BallotsOfLast50 BallotsOfLast `json:"ballotsOfLast50" msgpack:"ballotsOfLast50"`
	LastVoteAt      *Timestamp    `json:"lastVoteAt" msgpack:"lastVoteAt"`
}

// BallotsOfLast counts ballots of one voter in the latest votes that are over and of which ballots are held.
type BallotsOfLast struct {
	Cast Decimal `json:"cast" msgpack:"cast"`
	// Of is the number of votes, at most LastVotes.
	Of Decimal `json:"of" msgpack:"of"`
}

// DelegatedPower is what a voter may vote with for others in one DAO now.
type DelegatedPower struct {
	DAOID *string `json:"daoId" msgpack:"daoId"`
	DelegationScope
	VotingPower   *Decimal `json:"votingPower" msgpack:"votingPower"`
	Delegators    *Decimal `json:"delegators" msgpack:"delegators"`
	ShareOfSupply *Decimal `json:"shareOfSupply" msgpack:"shareOfSupply"`
}

// VoterDelegation is one row of a voter's delegations: a delegation that applies now.
type VoterDelegation struct {
	DAOIDs []string `json:"daoIds" msgpack:"daoIds"`
	DelegationScope
	Delegator     string     `json:"delegatorIdentity" msgpack:"delegatorIdentity"`
	Delegate      string     `json:"delegateIdentity" msgpack:"delegateIdentity"`
	DelegatorName *VoterName `json:"delegatorName" msgpack:"delegatorName"`
	DelegateName  *VoterName `json:"delegateName" msgpack:"delegateName"`
	Share         Decimal    `json:"share" msgpack:"share"`
	Since         *Timestamp `json:"since" msgpack:"since"`
	SinceBlock    Decimal    `json:"sinceBlock" msgpack:"sinceBlock"`
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
	DAOID       string        `json:"daoId" msgpack:"daoId"`
	Proposal    VotedProposal `json:"proposal" msgpack:"proposal"`
	EndAt       *Timestamp    `json:"endAt" msgpack:"endAt"`
	VotingPower *Decimal      `json:"votingPower" msgpack:"votingPower"`
	PowerBasis  PowerBasis    `json:"powerBasis" msgpack:"powerBasis"`
	AsDelegate  bool          `json:"asDelegate" msgpack:"asDelegate"`
}
