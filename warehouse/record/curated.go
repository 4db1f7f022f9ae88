package record

import "pnyx/governance"

// Event is a lifecycle event that somebody recorded, beyond what follows from a
// proposal's own times.
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
	Proposal   *ProposalRef
	Confidence string
	// Importance is 0 to 100.
	Importance uint8
}

// Kind returns KindEvent.
func (*Event) Kind() Kind { return KindEvent }

// Key returns the event's id.
func (e *Event) Key() []string { return []string{e.ID} }

// Signal is a curated signal, written by a person or a program upstream.
type Signal struct {
	ID            string
	Type          string
	DAOID         string
	Proposal      *ProposalRef
	Title         string
	Summary       string
	SourceURL     string
	Actionability string
	Severity      string
	// Score is 0 to 100.
	Score      uint8
	Surfaces   []string
	DetectedAt governance.Timestamp
	DeadlineAt *governance.Timestamp
	// Evidence is a JSON object.
	Evidence string
}

// Kind returns KindSignal.
func (*Signal) Kind() Kind { return KindSignal }

// Key returns the signal's id.
func (s *Signal) Key() []string { return []string{s.ID} }

// Evidence is an analysis of a proposal made upstream.
type Evidence struct {
	Proposal        ProposalRef
	ArtifactVersion string
	GeneratedAt     governance.Timestamp
	// Dossier is a JSON object; SourceRefs and Warnings are JSON arrays.
	Dossier    string
	SourceRefs string
	Warnings   string
}

// Kind returns KindEvidence.
func (*Evidence) Kind() Kind { return KindEvidence }

// Key returns the proposal that the evidence is about.
func (e *Evidence) Key() []string {
	return []string{string(e.Proposal.Provider), e.Proposal.ExternalID}
}
