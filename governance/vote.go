package governance

// VoteSummary is the payload of a proposal's vote summary. While its vote data
// is not ready, Totals and Quorum are null and Choices is empty.
type VoteSummary struct {
	// Proposal identifies the proposal.
	Proposal SummaryProposal `json:"proposal" msgpack:"proposal"`
	// Totals sums the ballots; null until vote data is ready.
	Totals *VoteTotals `json:"totals" msgpack:"totals"`
	// Quorum compares the counted power with the quorum; null where there is none.
	Quorum *Quorum `json:"quorum" msgpack:"quorum"`
	// Choices holds the choices, in order.
	Choices []ChoiceTotal `json:"choices" msgpack:"choices"`
	// CoverageStatus says how much of the upstream data is stored.
	CoverageStatus Coverage `json:"coverageStatus" msgpack:"coverageStatus"`
}

// SummaryProposal names the proposal that a vote summary is of.
type SummaryProposal struct {
	// ProposalKey is the key of the proposal.
	ProposalKey ProposalKey `json:"proposalKey" msgpack:"proposalKey"`
	// Title is the title; null where upstream states none.
	Title *string `json:"title" msgpack:"title"`
	// Outcome is the result of the proposal.
	Outcome Outcome `json:"outcome" msgpack:"outcome"`
}

// VoteTotals sums a proposal's ballots: one a voter, the latest, zero power
// included.
type VoteTotals struct {
	// Votes is the number of ballots.
	Votes Decimal `json:"votes" msgpack:"votes"`
	// UniqueVoters is the number of voters.
	UniqueVoters Decimal `json:"uniqueVoters" msgpack:"uniqueVoters"`
	// VotingPower is the voting power.
	VotingPower Decimal `json:"votingPower" msgpack:"votingPower"`
}

// Quorum compares the power that counts towards it with what is needed.
type Quorum struct {
	// Raw is the quorum as upstream publishes it.
	Raw string `json:"raw" msgpack:"raw"`
	// Progress is counted ÷ needed, cut at six decimal places.
	Progress Decimal `json:"progress" msgpack:"progress"`
	// Reached says whether the quorum is reached.
	Reached bool `json:"reached" msgpack:"reached"`
}

// ChoiceTotal is what one choice received.
type ChoiceTotal struct {
	// Key is the key of the choice, see Choice.
	Key string `json:"key" msgpack:"key"`
	// Label is the text of the choice.
	Label string `json:"label" msgpack:"label"`
	// Votes is the number of ballots that support the choice.
	Votes Decimal `json:"votes" msgpack:"votes"`
	// VotingPower is the choice's score under the proposal's vote type.
	VotingPower Decimal `json:"votingPower" msgpack:"votingPower"`
}

// Ballot is one row of a proposal's ballots: a voter's latest.
type Ballot struct {
	// VoteID is the id of the ballot upstream.
	VoteID string `json:"voteId" msgpack:"voteId"`
	// VoterIdentity is the voter, see VoterIdentity.
	VoterIdentity string `json:"voterIdentity" msgpack:"voterIdentity"`
	// VoterAddress is the voter's address; null where the voter is not an address.
	VoterAddress *string `json:"voterAddress" msgpack:"voterAddress"`
	// ChoiceKey is the key of the single choice; null for ballots of several choices.
	ChoiceKey *string `json:"choiceKey" msgpack:"choiceKey"`
	// Choice shows the ballot in words.
	Choice ChoiceLabel `json:"choice" msgpack:"choice"`
	// VotingPower is the voting power.
	VotingPower Decimal `json:"votingPower" msgpack:"votingPower"`
	// VotedAt is when the ballot was cast; null where unknown.
	VotedAt *Timestamp `json:"votedAt" msgpack:"votedAt"`
	// TransactionHash is the hash of the voting transaction; null off chain.
	TransactionHash *string `json:"transactionHash" msgpack:"transactionHash"`
}

// ChoiceLabel shows a whole ballot in words.
type ChoiceLabel struct {
	// Label is the text of the choice.
	Label string `json:"label" msgpack:"label"`
}
