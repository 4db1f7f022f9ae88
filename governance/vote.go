package governance

// VoteSummary is the payload of a proposal's vote summary. While its vote data
// is not ready, Totals and Quorum are null and Choices is empty.
type VoteSummary struct {
	Proposal       SummaryProposal `json:"proposal" msgpack:"proposal"`
	Totals         *VoteTotals     `json:"totals" msgpack:"totals"`
	Quorum         *Quorum         `json:"quorum" msgpack:"quorum"`
	Choices        []ChoiceTotal   `json:"choices" msgpack:"choices"`
	CoverageStatus Coverage        `json:"coverageStatus" msgpack:"coverageStatus"`
}

// SummaryProposal names the proposal that a vote summary is of.
type SummaryProposal struct {
	ProposalKey ProposalKey `json:"proposalKey" msgpack:"proposalKey"`
	Title       *string     `json:"title" msgpack:"title"`
	Outcome     Outcome     `json:"outcome" msgpack:"outcome"`
}

// VoteTotals sums a proposal's ballots: one a voter, the latest, zero power
// included.
type VoteTotals struct {
	Votes        Decimal `json:"votes" msgpack:"votes"`
	UniqueVoters Decimal `json:"uniqueVoters" msgpack:"uniqueVoters"`
	VotingPower  Decimal `json:"votingPower" msgpack:"votingPower"`
}

// Quorum compares the power that counts towards it with what is needed.
type Quorum struct {
	// Raw is the quorum as upstream publishes it.
	Raw string `json:"raw" msgpack:"raw"`
	// Progress is counted ÷ needed, cut at six decimal places.
	Progress Decimal `json:"progress" msgpack:"progress"`
	Reached  bool    `json:"reached" msgpack:"reached"`
}

// ChoiceTotal is what one choice received.
type ChoiceTotal struct {
	Key   string `json:"key" msgpack:"key"`
	Label string `json:"label" msgpack:"label"`
	// Votes is the number of ballots that support the choice.
	Votes Decimal `json:"votes" msgpack:"votes"`
	// VotingPower is the choice's score under the proposal's vote type.
	VotingPower Decimal `json:"votingPower" msgpack:"votingPower"`
}

// Ballot is one row of a proposal's ballots: a voter's latest.
type Ballot struct {
	VoteID          string      `json:"voteId" msgpack:"voteId"`
	VoterIdentity   string      `json:"voterIdentity" msgpack:"voterIdentity"`
	VoterAddress    *string     `json:"voterAddress" msgpack:"voterAddress"`
	ChoiceKey       *string     `json:"choiceKey" msgpack:"choiceKey"`
	Choice          ChoiceLabel `json:"choice" msgpack:"choice"`
	VotingPower     Decimal     `json:"votingPower" msgpack:"votingPower"`
	VotedAt         *Timestamp  `json:"votedAt" msgpack:"votedAt"`
	TransactionHash *string     `json:"transactionHash" msgpack:"transactionHash"`
}

// ChoiceLabel shows a whole ballot in words.
type ChoiceLabel struct {
	Label string `json:"label" msgpack:"label"`
}
