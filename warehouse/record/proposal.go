package record

import (
	"github.com/shopspring/decimal"

	"pnyx/governance"
)

// Proposal is a proposal as its upstream system states it. Texts are empty, and
// pointers nil, where upstream states nothing.
type Proposal struct {
	ProposalRef
	// SourceID is the id of the source (space, organization) it belongs to.
	SourceID      string
	Title         string
	Body          string
	ProposerID    string
	SourceURL     string
	DiscussionURL string
	VoteType      governance.VoteType
	// State is upstream's own word for where the proposal stands: Snapshot's
	// state, Tally's status.
	State string
	// Choices are the labels that upstream states, in order.
	Choices []string
	// QuorumRaw is the quorum as published, in upstream's unit and notation.
	QuorumRaw string
	// Quorum is the quorum as voting power; nil where none is published.
	Quorum *decimal.Decimal

	CreatedAt *governance.Timestamp
	UpdatedAt *governance.Timestamp
	StartAt   *governance.Timestamp
	EndAt     *governance.Timestamp
	// StartDayOnly and EndDayOnly say that only the day is known; the time is
	// then midnight UTC of that day.
	StartDayOnly bool
	EndDayOnly   bool

	// StatedScores are the scores per choice that upstream states, in the order
	// of Choices; StatedScoresTotal their sum as stated.
	StatedScores      []decimal.Decimal
	StatedScoresTotal *decimal.Decimal
	// StatedVotes is how many ballots upstream says there are.
	StatedVotes *uint64
	Flagged     bool

	// UpstreamID, UpstreamType and UpstreamStatus are the DAO's own id, kind and
	// outcome, where it keeps them beside the voting system's (Decentraland).
	UpstreamID     string
	UpstreamType   string
	UpstreamStatus string

	// SnapshotURL is the page of the vote on Snapshot that a Governor's proposal
	// follows. Left out of the fingerprint where empty, it changes no other record's.
	SnapshotURL string `msgpack:",omitempty"`

	// Milestones are lifecycle events that upstream recorded, in its order.
	Milestones []Milestone
}

// Milestone is a lifecycle event of a proposal that upstream recorded.
type Milestone struct {
	// Type is upstream's word, in lower case ("executed", "queued").
	Type   string
	At     *governance.Timestamp
	TxHash string
}

// Kind returns KindProposal.
func (*Proposal) Kind() Kind { return KindProposal }

// Key returns the hash of the proposal's reference.
func (p *Proposal) Key() []string {
	hash := p.Hash()
	return []string{string(hash[:])}
}
