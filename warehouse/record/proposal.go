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
	// Title is the proposal's title.
	Title string
	// Body is the text, in Markdown.
	Body string
	// ProposerID is the normalized identity of the author.
	ProposerID string
	// SourceURL is the proposal's page at the provider.
	SourceURL string
	// DiscussionURL is the page of the discussion that the proposal links to.
	DiscussionURL string
	VoteType      governance.VoteType
	// State is the provider's state of the proposal: Snapshot's state, Tally's status, a
	// Governor's state in lower case; empty if the contract has none.
	State string
	// Choices are the stated labels of the choices, in order.
	Choices []string
	// QuorumRaw is the quorum as published, in upstream's unit and notation.
	QuorumRaw string
	// Quorum is the quorum as voting power.
	Quorum *decimal.Decimal
	// CreatedAt is the stated time of creation; nil if upstream states none.
	CreatedAt *governance.Timestamp
	// UpdatedAt is the stated time of the last change; nil if upstream states none.
	UpdatedAt *governance.Timestamp
	// StartAt is the stated start of voting; nil if upstream states none.
	StartAt *governance.Timestamp
	// EndAt is the stated end of voting; nil if upstream states none.
	EndAt *governance.Timestamp
	// StartDayOnly is true if only the day of StartAt is known. StartAt is then midnight UTC.
	StartDayOnly bool
	// EndDayOnly is true if only the day of EndAt is known. EndAt is then midnight UTC.
	EndDayOnly bool
	// StatedScores are the stated scores in the order of Choices.
	StatedScores      []decimal.Decimal
	StatedScoresTotal *decimal.Decimal
	// StatedVotes is the stated number of ballots.
	StatedVotes *uint64
	// Flagged is true if the provider marks the proposal as spam.
	Flagged bool
	// UpstreamID is the DAO's own id of the proposal; empty unless the DAO publishes one
	// in addition to the provider's (Decentraland).
	UpstreamID string
	// UpstreamType is the DAO's own type of the proposal; empty if it publishes none.
	UpstreamType string
	// UpstreamStatus is the DAO's own status of the proposal; empty if it publishes none.
	UpstreamStatus string
	// SnapshotURL is the page of the Snapshot vote that a Governor's proposal executes.
	// The fingerprint omits it if it is empty, so that other fingerprints stay the same.
	SnapshotURL string `msgpack:",omitempty"`
	// Milestones are the lifecycle events that upstream recorded, in its order.
	Milestones []Milestone
	// The fingerprint omits the following fields if they are empty, for the same reason.
	// Origin names what states the proposal, for evidence: a block with its hash, or a
	// message of the hub; empty for a file.
	Origin string `msgpack:",omitempty"`
	// Provisional is true if a block states something of the proposal or its ballots that
	// is not final.
	Provisional bool `msgpack:",omitempty"`
	// QuorumChoices are the choices whose power counts towards the quorum; nil for the
	// provider's rule.
	QuorumChoices []string `msgpack:",omitempty"`
	// OnchainID is the external id at provider governor, eip155:<chain>:<address>/<id>;
	// empty for a proposal without a Governor.
	OnchainID string `msgpack:",omitempty"`
	// ScoresState is Snapshot's state of the stated scores: "final", "pending", "invalid";
	// empty where upstream states none.
	ScoresState string `msgpack:",omitempty"`
	// StatedChoiceVotes are the stated numbers of ballots in the order of Choices; nil where
	// upstream does not state all of them.
	StatedChoiceVotes []uint64 `msgpack:",omitempty"`
	// QuorumType says what Quorum is needed for; empty for governance.QuorumOfApproval.
	QuorumType governance.QuorumType `msgpack:",omitempty"`
	// StatedActions is the number of calls that the proposal executes; nil if upstream states
	// nothing of them.
	StatedActions *uint64 `msgpack:",omitempty"`
	// VotingToken is the token whose balances are voting power, eip155:<chain>:<address>; empty
	// if upstream states none.
	VotingToken string `msgpack:",omitempty"`
	// Withdrawn is true if upstream has deleted the proposal.
	Withdrawn bool `msgpack:",omitempty"`
	// Actions are the calls until TakeActions makes them records of their own.
	Actions []*Action `msgpack:"-" ch:"-"`
}

// NeededQuorum returns the quorum as voting power; nil where there is none. Upstream
// publishes one of zero where none applies.
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

// Types of milestones of proposals in a timelock: the earliest and the latest time of execution.
// ActionsChangedMilestone is the time at which what the proposal executes was replaced.
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
	// At is the time; nil if upstream states none.
	At *governance.Timestamp
	// TxHash is the transaction; empty if upstream states none.
	TxHash string
}

// Kind implements Record.
func (*Proposal) Kind() Kind { return KindProposal }

// Key returns the hash of the proposal's reference.
func (p *Proposal) Key() Key { return Key{p.Hash().text()} }
