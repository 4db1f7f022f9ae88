package query

import "pnyx/governance"

// Voter is the identity of a voter, as governance.VoterIdentity spells it.
type Voter string

// Voters selects voters of one DAO: the highest voting power first, equal ones by
// identity, ascending.
type Voters struct {
	DAOID string `param:"daoId" in:"path" doc:"The DAO." example:"uniswap"`

	Paging[VoterPosition] `default:"25" max:"100"`
}

// Kind implements Page.
func (Voters) Kind() Kind { return KindVoters }

// Scope implements Versioned.
func (q Voters) Scope() Scope { return Scope{KindVoters, q.DAOID} }

// VoterPosition is a place in the ranking of a DAO's voters.
type VoterPosition struct {
	// Power is the voting power over all proposals of the DAO.
	Power governance.Decimal `msgpack:"p"`
	Voter string             `msgpack:"k"`
}

// PositionOf returns the place of a voter in the ranking.
func (Voters) PositionOf(voter governance.DAOVoter) VoterPosition {
	return VoterPosition{Power: voter.TotalVotingPower, Voter: voter.VoterIdentity}
}

// Profile selects one voter over all DAOs.
type Profile struct {
	Voter Voter `param:"voterIdentity" in:"path" doc:"The voter; the case of a 0x… address does not matter." example:"0x0000000000000000000000000000000000000001"`
}

// Kind implements Page: a publication changes too many voters to keep a version of each.
func (Profile) Kind() Kind { return KindProfile }

// VoterVotes selects votes of one voter: the newest first, those without a time last,
// ballots of one time by proposal key, descending.
type VoterVotes struct {
	Voter Voter                 `param:"voterIdentity" in:"path" doc:"The voter; the case of a 0x… address does not matter." example:"0x0000000000000000000000000000000000000001"`
	DAOID string                `param:"daoId" doc:"Only votes in this DAO." example:"uniswap"`
	From  *governance.Timestamp `param:"from" doc:"Only votes at or after this time." example:"2026-01-01"`
	To    *governance.Timestamp `param:"to" doc:"Only votes before this time." example:"2026-07-01"`

	Paging[VoterVotePosition] `default:"50" max:"100"`
}

// Kind implements Page; see Profile.
func (VoterVotes) Kind() Kind { return KindVoterVotes }

// VoterVotePosition is a place in the list of a voter's votes.
type VoterVotePosition struct {
	// At is when the vote was cast; nil where that is unknown.
	At       *governance.Timestamp  `msgpack:"t,omitempty"`
	Proposal governance.ProposalKey `msgpack:"k"`
}

// PositionOf returns the place of a vote in the list.
func (VoterVotes) PositionOf(vote governance.VoterVote) VoterVotePosition {
	return VoterVotePosition{At: vote.VotedAt, Proposal: vote.Proposal.ProposalKey}
}
