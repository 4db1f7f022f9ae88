package record

import "pnyx/governance"

// Event is a recorded lifecycle event: one that upstream states in addition to events
// derived from proposals and topics.
type Event struct {
	// ID identifies the event. A later event with the same id replaces it.
	ID string
	// Type is one of the event types of the API.
	Type string
	// At is the time of the event.
	At governance.Timestamp
	// DAOID is the DAO that the event belongs to.
	DAOID string
	Title string
	// URL is the page about the event.
	URL string
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
	// ID identifies the signal. A later signal with the same id replaces it.
	ID string
	// Type is one of the signal types of the API.
	Type string
	// DAOID is the DAO that the signal belongs to.
	DAOID string
	// Proposal is nil for a signal that is not about a proposal.
	Proposal *ProposalRef
	Title    string
	// Summary is the display text below the title.
	Summary string
	// SourceURL is the page that the signal is based on.
	SourceURL string
	// Actionability says what a reader can do, in upstream's words.
	Actionability string
	// Severity is upstream's severity.
	Severity string
	// Score is the priority from 0 to 100.
	Score uint8
	// Surfaces are the places where the signal is shown.
	Surfaces []string
	// DetectedAt is when upstream detected the condition.
	DetectedAt governance.Timestamp
	// DeadlineAt is when a reaction must be complete; nil if there is no deadline.
	DeadlineAt *governance.Timestamp
	// Evidence is a JSON object.
	Evidence string
}

// Kind implements Record.
func (*Signal) Kind() Kind { return KindSignal }

// Key returns the signal's id.
func (s *Signal) Key() Key { return Key{s.ID} }

// Evidence is an analysis of a proposal that upstream made.
type Evidence struct {
	// Proposal is the analyzed proposal. A later analysis of it replaces this one.
	Proposal ProposalRef
	// ArtifactVersion is upstream's version of the analysis.
	ArtifactVersion string
	// GeneratedAt is when upstream made the analysis.
	GeneratedAt governance.Timestamp
	// Dossier is a JSON object.
	Dossier string
	// SourceRefs is a JSON array.
	SourceRefs string
	// Warnings is a JSON array.
	Warnings string
}

// Kind implements Record.
func (*Evidence) Kind() Kind { return KindEvidence }

// Key returns provider and external id of the proposal.
func (e *Evidence) Key() Key { return Key{string(e.Proposal.Provider), e.Proposal.ExternalID} }
