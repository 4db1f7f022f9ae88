package record

import "pnyx/governance"

// Event is a recorded lifecycle event: one that upstream states in addition to events
// derived from proposals and topics.
type Event struct {
	ID    string
	Type  string
	At    governance.Timestamp
	DAOID string
	Title string
	URL   string
	// ItemType is what the event is about: "proposal", "topic" or "dao".
	ItemType string
	// Proposal is nil for an event that is not about a proposal.
	Proposal *ProposalRef
	// Confidence is the precision of At: "exact", "day", "derived" or "discovered".
	Confidence string
	// Importance is a score from 0 to 100.
	Importance uint8
}

// Kind implements Record.
func (*Event) Kind() Kind { return KindEvent }

// Key returns the event's id.
func (e *Event) Key() Key { return Key{e.ID} }

// Signal is a recorded signal: one that upstream states in addition to events derived by rules.
type Signal struct {
	ID    string
	Type  string
	DAOID string
	// Proposal is nil for a signal that is not about a proposal.
	Proposal  *ProposalRef
	Title     string
	Summary   string
	SourceURL string
	// Actionability says what a reader can do, in upstream's words.
	Actionability string
	Severity      string
	// Score is the priority from 0 to 100.
	Score      uint8
	Surfaces   []string
	DetectedAt governance.Timestamp
	// DeadlineAt is when a reaction must be complete; nil if there is no deadline.
	DeadlineAt *governance.Timestamp
	Evidence   string // a JSON object
}

// Kind implements Record.
func (*Signal) Kind() Kind { return KindSignal }

// Key returns the signal's id.
func (s *Signal) Key() Key { return Key{s.ID} }

// Evidence is an analysis of a proposal that upstream made.
type Evidence struct {
	// Proposal is the analyzed proposal. A later analysis of it replaces this one.
	Proposal        ProposalRef
	ArtifactVersion string
	GeneratedAt     governance.Timestamp
	// Dossier is a JSON object, SourceRefs and Warnings are JSON arrays.
	Dossier, SourceRefs, Warnings string
}

// Kind implements Record.
func (*Evidence) Kind() Kind { return KindEvidence }

// Key returns provider and external id of the proposal.
func (e *Evidence) Key() Key { return Key{string(e.Proposal.Provider), e.Proposal.ExternalID} }
