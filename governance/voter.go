package governance

// DAOVoter is one row of a DAO's ranking by voting power.
type DAOVoter struct {
	Rank             uint64     `json:"rank" msgpack:"rank"`
	VoterIdentity    string     `json:"voterIdentity" msgpack:"voterIdentity"`
	VoterAddress     *string    `json:"voterAddress" msgpack:"voterAddress"`
	VoterName        *VoterName `json:"voterName" msgpack:"voterName"`
	TotalVotingPower Decimal    `json:"totalVotingPower" msgpack:"totalVotingPower"`
	VoteCount        Decimal    `json:"voteCount" msgpack:"voteCount"`
	ProposalCount    Decimal    `json:"proposalCount" msgpack:"proposalCount"`
}

// VoterProfile is the payload of one voter over all DAOs; its sums are the sums of its DAOs.
type VoterProfile struct {
	VoterIdentity    string           `json:"voterIdentity" msgpack:"voterIdentity"`
	VoterAddress     *string          `json:"voterAddress" msgpack:"voterAddress"`
	VoterName        *VoterName       `json:"voterName" msgpack:"voterName"`
	DAOCount         Decimal          `json:"daoCount" msgpack:"daoCount"`
	VoteCount        Decimal          `json:"voteCount" msgpack:"voteCount"`
	ProposalCount    Decimal          `json:"proposalCount" msgpack:"proposalCount"`
	TotalVotingPower Decimal          `json:"totalVotingPower" msgpack:"totalVotingPower"`
	DAOs             []VoterDAO       `json:"daos" msgpack:"daos"`
	DelegatedPower   []DelegatedPower `json:"delegatedPower" msgpack:"delegatedPower"`
}

// VoterDAO is what a voter did in one DAO.
type VoterDAO struct {
	DAOID            string     `json:"daoId" msgpack:"daoId"`
	VoteCount        Decimal    `json:"voteCount" msgpack:"voteCount"`
	ProposalCount    Decimal    `json:"proposalCount" msgpack:"proposalCount"`
	TotalVotingPower Decimal    `json:"totalVotingPower" msgpack:"totalVotingPower"`
	FirstVoteAt      *Timestamp `json:"firstVoteAt" msgpack:"firstVoteAt"`
	LastVoteAt       *Timestamp `json:"lastVoteAt" msgpack:"lastVoteAt"`
}

// VoterVote is one row of a voter's history.
type VoterVote struct {
	Proposal        VotedProposal `json:"proposal" msgpack:"proposal"`
	ChoiceKey       *string       `json:"choiceKey" msgpack:"choiceKey"`
	Choice          ChoiceLabel   `json:"choice" msgpack:"choice"`
	Invalid         bool          `json:"invalid" msgpack:"invalid"`
	VotingPower     Decimal       `json:"votingPower" msgpack:"votingPower"`
	VotedAt         *Timestamp    `json:"votedAt" msgpack:"votedAt"`
	TransactionHash *string       `json:"transactionHash" msgpack:"transactionHash"`
}

// VotedProposal names a proposal in a voter's history.
type VotedProposal struct {
	ProposalKey ProposalKey `json:"proposalKey" msgpack:"proposalKey"`
	Title       *string     `json:"title" msgpack:"title"`
	Flagged     bool        `json:"flagged,omitempty" msgpack:"flagged,omitempty"`
}
