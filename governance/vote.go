package governance

// VoteSummary is the payload of a proposal's vote summary. While its vote data
// is not ready, Totals and Quorum are null and Choices is empty.
type VoteSummary struct {
	// Proposal identifies the proposal.
	Proposal SummaryProposal `json:"proposal" msgpack:"proposal"`
	// Basis says where the numbers are from; null until vote data is ready.
	Basis *Basis `json:"basis" msgpack:"basis"`
	// Totals sums the votes; null until vote data is ready.
	Totals *VoteTotals `json:"totals" msgpack:"totals"`
	// Held sums the ballots that are held.
	Held HeldTotals `json:"held" msgpack:"held"`
	// Quorum compares the counted power with the quorum; null where there is none.
	Quorum *Quorum `json:"quorum" msgpack:"quorum"`
	// Result is the choice with the most power; null until the vote is over, and where its
	// totals are not final.
	Result *VoteResult `json:"result" msgpack:"result"`
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

// Basis says where the numbers of a vote are from.
type Basis string

// The bases.
const (
	// UpstreamBasis is what upstream states of the vote as a whole.
	UpstreamBasis Basis = "upstream"
	// BallotsBasis is the sum of the ballots that count.
	BallotsBasis Basis = "ballots"
)

// Bases lists every Basis.
func Bases() []Basis { return []Basis{UpstreamBasis, BallotsBasis} }

// HeldTotals sums the ballots that are held: what the list of ballots adds up to.
type HeldTotals struct {
	// Votes is the number of ballots.
	Votes Decimal `json:"votes" msgpack:"votes"`
	// VotingPower is the voting power.
	VotingPower Decimal `json:"votingPower" msgpack:"votingPower"`
}

// VoteResult is what a vote came to.
type VoteResult struct {
	// ChoiceKey is the key of the choice with the most power; null for a tie.
	ChoiceKey *string `json:"choiceKey" msgpack:"choiceKey"`
	// Label is the text of that choice; null for a tie.
	Label *string `json:"label" msgpack:"label"`
	// MarginPower is by how much the choice leads the second.
	MarginPower Decimal `json:"marginPower" msgpack:"marginPower"`
	// MarginPercent is MarginPower in percent of all power, cut at two decimal places.
	MarginPercent Decimal `json:"marginPercent" msgpack:"marginPercent"`
	// Tie says that several choices have the most power.
	Tie bool `json:"tie" msgpack:"tie"`
}

// VoteTotals sums a proposal's votes: one a voter, the latest, zero power
// included.
type VoteTotals struct {
	// Votes is the number of votes; null where upstream does not state it.
	Votes *Decimal `json:"votes" msgpack:"votes"`
	// UniqueVoters is the number of voters; null where upstream does not state it.
	UniqueVoters *Decimal `json:"uniqueVoters" msgpack:"uniqueVoters"`
	// VotingPower is the voting power.
	VotingPower Decimal `json:"votingPower" msgpack:"votingPower"`
}

// Quorum compares the power that counts towards it with what is needed.
type Quorum struct {
	// Raw is the quorum as upstream publishes it.
	Raw string `json:"raw" msgpack:"raw"`
	// Progress is counted ÷ needed, cut at six decimal places.
	Progress Decimal `json:"progress" msgpack:"progress"`
	// Reached says whether the quorum is reached; null where ballots that are missing may
	// reach it.
	Reached *bool `json:"reached" msgpack:"reached"`
	// Type says what the quorum is needed for.
	Type QuorumType `json:"type" msgpack:"type"`
}

// ChoiceTotal is what one choice received.
type ChoiceTotal struct {
	// Key is the key of the choice, see Choice.
	Key string `json:"key" msgpack:"key"`
	// Label is the text of the choice.
	Label string `json:"label" msgpack:"label"`
	// Votes is the number of votes that support the choice; null where upstream does not
	// state it.
	Votes *Decimal `json:"votes" msgpack:"votes"`
	// VotingPower is the choice's score under the proposal's vote type.
	VotingPower Decimal `json:"votingPower" msgpack:"votingPower"`
}

// Ballot is one row of a proposal's ballots: a voter's latest, with the voter's name.
type Ballot struct {
	ExportedBallot

	// VoterName is the voter's name; null where none is known.
	VoterName *VoterName `json:"voterName" msgpack:"voterName"`
}

// ExportedBallot is a ballot as exports have it, which do not change with the names of voters.
type ExportedBallot struct {
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
	// Invalid says that the ballot names choices that do not exist, one twice, or not as many as
	// it has to: it supports none.
	Invalid bool `json:"invalid" msgpack:"invalid"`
	// VotingPower is the voting power.
	VotingPower Decimal `json:"votingPower" msgpack:"votingPower"`
	// VotedAt is when the ballot was cast; null where unknown.
	VotedAt *Timestamp `json:"votedAt" msgpack:"votedAt"`
	// TransactionHash is the hash of the voting transaction; null off chain.
	TransactionHash *string `json:"transactionHash" msgpack:"transactionHash"`
	// Reason is what the voter gives as the reason, cut at 1,000 characters, of which the last
	// is then an ellipsis; null where none is given.
	Reason *string `json:"reason" msgpack:"reason"`
}

// ChoiceLabel shows a whole ballot in words.
type ChoiceLabel struct {
	// Label is the text of the choice.
	Label string `json:"label" msgpack:"label"`
}
