package governance

// VoteSummary is the payload of a proposal's vote summary. While its vote data is not ready, Totals and Quorum are
// null and Choices is empty.
type VoteSummary struct {
	Proposal       SummaryProposal `json:"proposal" msgpack:"proposal"`
	Basis          *Basis          `json:"basis" msgpack:"basis"`
	Totals         *VoteTotals     `json:"totals" msgpack:"totals"`
	Held           HeldTotals      `json:"held" msgpack:"held"`
	Quorum         *Quorum         `json:"quorum" msgpack:"quorum"`
	Result         *VoteResult     `json:"result" msgpack:"result"`
	Choices        []ChoiceTotal   `json:"choices" msgpack:"choices"`
	CoverageStatus Coverage        `json:"coverageStatus" msgpack:"coverageStatus"`
}

// SummaryProposal names the proposal that a vote summary is of.
type SummaryProposal struct {
	ProposalKey ProposalKey `json:"proposalKey" msgpack:"proposalKey"`
	Title       *string     `json:"title" msgpack:"title"`
	Outcome     Outcome     `json:"outcome" msgpack:"outcome"`
}

// Basis says where the numbers of a vote are from.
type Basis string

// The bases.
const (
	// UpstreamBasis is what upstream states of the vote as a whole.
	UpstreamBasis Basis = "upstream"
	// BallotsBasis is the sum of the ballots that count.
	BallotsBasis Basis = "ballots"
)

// HeldTotals sums the ballots that are held: what the list of ballots adds up to.
type HeldTotals struct {
	Votes       Decimal `json:"votes" msgpack:"votes"`
	VotingPower Decimal `json:"votingPower" msgpack:"votingPower"`
}

// VoteResult is what a vote came to.
type VoteResult struct {
	ChoiceKey     *string `json:"choiceKey" msgpack:"choiceKey"`
	Label         *string `json:"label" msgpack:"label"`
	MarginPower   Decimal `json:"marginPower" msgpack:"marginPower"`
	MarginPercent Decimal `json:"marginPercent" msgpack:"marginPercent"`
	Tie           bool    `json:"tie" msgpack:"tie"`
}

// VoteTotals sums a proposal's votes: one a voter, the latest, zero power included.
type VoteTotals struct {
	Votes        *Decimal `json:"votes" msgpack:"votes"`
	UniqueVoters *Decimal `json:"uniqueVoters" msgpack:"uniqueVoters"`
	VotingPower  Decimal  `json:"votingPower" msgpack:"votingPower"`
}

// Quorum compares the power that counts towards it with what is needed.
type Quorum struct {
	Raw      string     `json:"raw" msgpack:"raw"`
	Progress Decimal    `json:"progress" msgpack:"progress"`
	Reached  *bool      `json:"reached" msgpack:"reached"`
	Type     QuorumType `json:"type" msgpack:"type"`
}

// ChoiceTotal is what one choice received.
type ChoiceTotal struct {
	Key         string   `json:"key" msgpack:"key"`
	Label       string   `json:"label" msgpack:"label"`
	Votes       *Decimal `json:"votes" msgpack:"votes"`
	VotingPower Decimal  `json:"votingPower" msgpack:"votingPower"`
}

// Ballot is one row of a proposal's ballots: a voter's latest, with the voter's name.
type Ballot struct {
	ExportedBallot
	VoterName *VoterName `json:"voterName" msgpack:"voterName"`
}

// ExportedBallot is a ballot as exports have it, which do not change with the names of voters.
type ExportedBallot struct {
	VoteID          string      `json:"voteId" msgpack:"voteId"`
	VoterIdentity   string      `json:"voterIdentity" msgpack:"voterIdentity"`
	VoterAddress    *string     `json:"voterAddress" msgpack:"voterAddress"`
	ChoiceKey       *string     `json:"choiceKey" msgpack:"choiceKey"`
	Choice          ChoiceLabel `json:"choice" msgpack:"choice"`
	Invalid         bool        `json:"invalid" msgpack:"invalid"`
	VotingPower     Decimal     `json:"votingPower" msgpack:"votingPower"`
	VotedAt         *Timestamp  `json:"votedAt" msgpack:"votedAt"`
	TransactionHash *string     `json:"transactionHash" msgpack:"transactionHash"`
	Reason          *string     `json:"reason" msgpack:"reason"`
}

// ChoiceLabel shows a whole ballot in words.
type ChoiceLabel struct {
	Label string `json:"label" msgpack:"label"`
}
