package governance

// DAOVoter is one row of a DAO's ranking by voting power.
type DAOVoter struct {
	// Rank is the place in the ranking, from 1.
	Rank uint64 `json:"rank" msgpack:"rank"`
	// VoterIdentity is the voter, see VoterIdentity.
	VoterIdentity string `json:"voterIdentity" msgpack:"voterIdentity"`
	// VoterAddress is the voter's address; null where the voter is not an address.
	VoterAddress *string `json:"voterAddress" msgpack:"voterAddress"`
	// VoterName is the voter's name; null where none is known.
	VoterName *VoterName `json:"voterName" msgpack:"voterName"`
	// TotalVotingPower is the sum of the voting power.
	TotalVotingPower Decimal `json:"totalVotingPower" msgpack:"totalVotingPower"`
	// VoteCount is the number of ballots.
	VoteCount Decimal `json:"voteCount" msgpack:"voteCount"`
	// ProposalCount is the number of proposals voted on.
	ProposalCount Decimal `json:"proposalCount" msgpack:"proposalCount"`
}

// VoterProfile is the payload of one voter over all DAOs; its sums are the sums of
// its DAOs.
type VoterProfile struct {
	// VoterIdentity is the voter, see VoterIdentity.
	VoterIdentity string `json:"voterIdentity" msgpack:"voterIdentity"`
	// VoterAddress is the voter's address; null where the voter is not an address.
	VoterAddress *string `json:"voterAddress" msgpack:"voterAddress"`
	// VoterName is the voter's name; null where none is known.
	VoterName *VoterName `json:"voterName" msgpack:"voterName"`
	// DAOCount is the number of DAOs voted in.
	DAOCount Decimal `json:"daoCount" msgpack:"daoCount"`
	// VoteCount is the number of ballots.
	VoteCount Decimal `json:"voteCount" msgpack:"voteCount"`
	// ProposalCount is the number of proposals voted on.
	ProposalCount Decimal `json:"proposalCount" msgpack:"proposalCount"`
	// TotalVotingPower is the sum of the voting power.
	TotalVotingPower Decimal `json:"totalVotingPower" msgpack:"totalVotingPower"`
	// DAOs holds the sums by DAO.
	DAOs []VoterDAO `json:"daos" msgpack:"daos"`
	// DelegatedPower is what the voter may vote with for others now, by DAO and token.
	DelegatedPower []DelegatedPower `json:"delegatedPower" msgpack:"delegatedPower"`
}

// VoterDAO is what a voter did in one DAO.
type VoterDAO struct {
	// DAOID is the id of the DAO.
	DAOID string `json:"daoId" msgpack:"daoId"`
	// VoteCount is the number of ballots.
	VoteCount Decimal `json:"voteCount" msgpack:"voteCount"`
	// ProposalCount is the number of proposals voted on.
	ProposalCount Decimal `json:"proposalCount" msgpack:"proposalCount"`
	// TotalVotingPower is the sum of the voting power.
	TotalVotingPower Decimal `json:"totalVotingPower" msgpack:"totalVotingPower"`
	// FirstVoteAt is the time of the first ballot; null where unknown.
	FirstVoteAt *Timestamp `json:"firstVoteAt" msgpack:"firstVoteAt"`
	// LastVoteAt is the time of the latest ballot; null where unknown.
	LastVoteAt *Timestamp `json:"lastVoteAt" msgpack:"lastVoteAt"`
}

// VoterVote is one row of a voter's history.
type VoterVote struct {
	// Proposal identifies the proposal.
	Proposal VotedProposal `json:"proposal" msgpack:"proposal"`
	// ChoiceKey is the key of the single choice; null for ballots of several choices.
	ChoiceKey *string `json:"choiceKey" msgpack:"choiceKey"`
	// Choice shows the ballot in words.
	Choice ChoiceLabel `json:"choice" msgpack:"choice"`
	// Invalid is as in Ballot.
	Invalid bool `json:"invalid" msgpack:"invalid"`
	// VotingPower is the voting power.
	VotingPower Decimal `json:"votingPower" msgpack:"votingPower"`
	// VotedAt is when the ballot was cast; null where unknown.
	VotedAt *Timestamp `json:"votedAt" msgpack:"votedAt"`
	// TransactionHash is the hash of the voting transaction; null off chain.
	TransactionHash *string `json:"transactionHash" msgpack:"transactionHash"`
}

// VotedProposal names a proposal in a voter's history.
type VotedProposal struct {
	// ProposalKey is the key of the proposal.
	ProposalKey ProposalKey `json:"proposalKey" msgpack:"proposalKey"`
	// Title is the title; null where upstream states none.
	Title *string `json:"title" msgpack:"title"`
	// Flagged is true if the provider marks the proposal as spam: its ballots are in no sum.
	Flagged bool `json:"flagged,omitempty" msgpack:"flagged,omitempty"`
}
