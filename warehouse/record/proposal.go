package record

import (
	"github.com/shopspring/decimal"

	"pnyx/governance"
)

// Proposal is a proposal as its upstream system states it. Strings are empty, and
// pointers nil, if upstream states nothing.
type Proposal struct {
	ProposalRef
	// SourceID is the id of the space or organization that the proposal belongs to.
	SourceID string
	Title    string
	Body     string // in Markdown
	// ProposerID is the normalized identity of the author.
	ProposerID    string
	SourceURL     string
	DiscussionURL string
	VoteType      governance.VoteType
	// State is the provider's state of the proposal: Snapshot's state, Tally's status, a
	// Governor's state in lower case; empty if the contract has none.
	State string
	// Choices are the stated labels of the choices, in order.
	Choices []string
	// QuorumRaw is the quorum as published, in upstream's unit and notation.
	QuorumRaw string
	Quorum    *decimal.Decimal // as voting power
	// CreatedAt, UpdatedAt, StartAt and EndAt are nil if upstream states none.
	CreatedAt *governance.Timestamp
	UpdatedAt *governance.Timestamp
	StartAt   *governance.Timestamp
	EndAt     *governance.Timestamp
	// StartDayOnly and EndDayOnly are true if only the day of StartAt or EndAt is known, which is then midnight UTC.
	StartDayOnly, EndDayOnly bool
	// StatedScores are the stated scores in the order of Choices.
	StatedScores      []decimal.Decimal
	StatedScoresTotal *decimal.Decimal `ch:"stated_total"`
	StatedVotes       *uint64
	// Flagged is true if the provider marks the proposal as spam.
	Flagged bool
	// UpstreamID, UpstreamType and UpstreamStatus are the DAO's own; empty unless it publishes them in addition to
	// the provider's (Decentraland).
	UpstreamID, UpstreamType, UpstreamStatus string
	// SnapshotURL is the page of the Snapshot vote that a Governor's proposal executes. The fingerprint omits it, and
	// each field below Milestones, if upstream states none: fingerprints of other proposals stay the same.
	SnapshotURL string `msgpack:",omitempty"`
	// Milestones are the lifecycle events that upstream recorded, in its order.
	Milestones []Milestone
	// Origin names what states the proposal: a block with its hash, or a message of the hub; empty for a file.
	Origin string `msgpack:",omitempty"`
	// Provisional is true if a block states something of it or its ballots that is not final.
	Provisional bool `msgpack:",omitempty"`
	// QuorumChoices are the choices whose power counts towards the quorum; nil for the provider's rule.
	QuorumChoices []string `msgpack:",omitempty"`
	// OnchainID is the external id at provider governor, eip155:<chain>:<address>/<id>.
	OnchainID string `msgpack:",omitempty"`
	// ScoresState is Snapshot's state of the stated scores: "final", "pending", "invalid".
	ScoresState string `msgpack:",omitempty"`
	// StatedChoiceVotes are the stated numbers of ballots in the order of Choices; nil unless all are stated.
	StatedChoiceVotes []uint64 `msgpack:",omitempty"`
	// QuorumType says what Quorum is needed for; empty for governance.QuorumOfApproval.
	QuorumType governance.QuorumType `msgpack:",omitempty"`
	// StatedActions is the number of calls that the proposal executes.
	StatedActions *uint64 `msgpack:",omitempty"`
	// VotingToken is the token whose balances are voting power, eip155:<chain>:<address>.
	VotingToken string `msgpack:",omitempty"`
	Withdrawn   bool   `msgpack:",omitempty"`
	// Actions are the calls until WithActions makes them records of their own.
	Actions []*Action `msgpack:"-" ch:"-"`
}

// NeededQuorum returns the quorum as voting power; nil for none, which upstream may state as zero.
func (p *Proposal) NeededQuorum() *decimal.Decimal {
	if p.Quorum == nil || !p.Quorum.IsPositive() {
		return nil
	}
	return p.Quorum
}

// HasFinalScores reports whether what upstream states of the votes is final.
func (p *Proposal) HasFinalScores() bool {
	const finalScores = "final" // the ScoresState of scores that change no more
	if p.ScoresState != "" {
		return p.ScoresState == finalScores
	}
	return governance.IsVoteOver(p.State, "")
}

// CountedChoices returns the keys of the choices whose power counts towards the quorum: by the
// quorum's type, the proposal's own rule, or else the provider's. It is nil where all power counts.
func (p *Proposal) CountedChoices() []string {
	if p.QuorumType == governance.QuorumOfRejection {
		return []string{p.Provider.ChoiceKey(1)}
	}
	if len(p.QuorumChoices) > 0 {
		return p.QuorumChoices
	}
	return p.Provider.QuorumChoices()
}

// Types of milestones: the earliest and latest time at which a timelock executes, and when the actions were replaced.
const (
	ExecutableMilestone     = "executable"
	ExpiresMilestone        = "expires"
	ActionsChangedMilestone = "actions_changed"
)

// Milestone is a lifecycle event of a proposal that upstream recorded.
type Milestone struct {
	// Type is upstream's type in lower case: "executed", "queued". The times of ExecutableMilestone and
	// ExpiresMilestone may be to come.
	Type string
	// At is nil, and TxHash empty, if upstream states none.
	At     *governance.Timestamp
	TxHash string
}

// Kind implements Record.
func (*Proposal) Kind() Kind { return KindProposal }

// Key returns the hash of the proposal's reference.
func (p *Proposal) Key() Key { return Key{p.Hash().text()} }
