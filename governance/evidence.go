package governance

import "encoding/json"

// Evidence is the payload that lets a caller cite and audit a proposal.
type Evidence struct {
	// Proposal identifies the proposal.
	Proposal EvidenceProposal `json:"proposal" msgpack:"proposal"`
	// Provenance says where each field comes from.
	Provenance []Provenance `json:"provenance" msgpack:"provenance"`
	// Intelligence is what is computed about the proposal.
	Intelligence Intelligence `json:"intelligence" msgpack:"intelligence"`
	// QualityFlags lists known limits of the data.
	QualityFlags []QualityFlag `json:"qualityFlags" msgpack:"qualityFlags"`
	// Warnings lists conflicts between sources.
	Warnings []Warning `json:"warnings" msgpack:"warnings"`
	// Corrections lists changes of the result after the vote was over, newest first, at most 100.
	Corrections []Correction `json:"corrections" msgpack:"corrections"`
}

// EvidenceProposal identifies the proposal that evidence is about.
type EvidenceProposal struct {
	// ProposalKey is the key of the proposal.
	ProposalKey ProposalKey `json:"proposalKey" msgpack:"proposalKey"`
	// Title is the title; null where upstream states none.
	Title *string `json:"title" msgpack:"title"`
	// SourceURL is the address of the page upstream; null where unknown.
	SourceURL *string `json:"sourceUrl" msgpack:"sourceUrl"`
}

// Provenance says where one field came from, and when it was seen there.
type Provenance struct {
	// Field is the field's name in the proposal's detail; "ballots" stands for those
	// that votes and vote summary are made of.
	Field string `json:"field" msgpack:"field"`
	// Source names the upstream record: "source/proposals/id" for what the proposal
	// itself states, with "/votes" behind it for what follows from its ballots, or
	// "#" and the statement that decided where several could.
	Source string `json:"source" msgpack:"source"`
	// Origin names what states it upstream: the block of a chain with its hash, or the
	// message of a hub; null for what was imported from files, and for ballots, which name
	// their transactions.
	Origin *string `json:"origin" msgpack:"origin"`
	// Provider is the upstream system.
	Provider Provider `json:"provider" msgpack:"provider"`
	// ObservedAt is when the version of the record that counts was first seen; of
	// ballots, when the newest was.
	ObservedAt Timestamp `json:"observedAt" msgpack:"observedAt"`
}

// Intelligence is what is computed about a proposal from records, with the analysis that was
// imported, if any: it is kept as it came, and no number in it is read.
type Intelligence struct {
	// Status says whether there is a dossier.
	Status IntelligenceStatus `json:"status" msgpack:"status"`
	// ArtifactVersion is the version of the rules and of the records used; null for none.
	ArtifactVersion *string `json:"artifactVersion" msgpack:"artifactVersion"`
	// GeneratedAt is the time of the newest record used; null for none.
	GeneratedAt *Timestamp `json:"generatedAt" msgpack:"generatedAt"`
	// Dossier is an object, or null.
	Dossier json.RawMessage `json:"dossier" msgpack:"dossier"`
	// SourceRefs is an array of the records that the dossier rests on.
	SourceRefs json.RawMessage `json:"sourceRefs" msgpack:"sourceRefs"`
	// Warnings is an array of what limits the dossier as a whole.
	Warnings json.RawMessage `json:"warnings" msgpack:"warnings"`
}

// IntelligenceStatus says whether there is a dossier.
type IntelligenceStatus string

// The values of intelligence.status; only an available one has content.
const (
	IntelligenceAvailable   IntelligenceStatus = "available"
	IntelligencePending     IntelligenceStatus = "pending"
	IntelligenceUnavailable IntelligenceStatus = "unavailable"
)

// NoIntelligence returns the value for a proposal without an imported analysis.
func NoIntelligence() Intelligence {
	return Intelligence{
		Status: IntelligenceUnavailable, SourceRefs: json.RawMessage("[]"), Warnings: json.RawMessage("[]"),
	}
}

// Correction is a change of one published figure of a vote that was over.
type Correction struct {
	// Field is the field of the vote summary: totals.votes, totals.votingPower, quorum.reached,
	// outcome, result.choiceKey, or choices.<key>.votingPower.
	Field string `json:"field" msgpack:"field"`
	// From is what was published before.
	From string `json:"from" msgpack:"from"`
	// To is what is published since; null where it is not known.
	To *string `json:"to" msgpack:"to"`
	// At is when the new figure was published.
	At Timestamp `json:"at" msgpack:"at"`
	// Reason says why the figure changed.
	Reason CorrectionReason `json:"reason" msgpack:"reason"`
}

// CorrectionReason says why a published figure changed.
type CorrectionReason string

// The values of a correction's reason: ballots were added, changed or withdrawn; upstream
// states another result; a newer version counts by another rule; the count was wrong.
const (
	LateBallots     CorrectionReason = "late_ballots"
	UpstreamRecount CorrectionReason = "upstream_recount"
	NewRule         CorrectionReason = "new_rule"
	OwnRecount      CorrectionReason = "own_recount"
)

// QualityFlag says what a reader should know about the data behind an answer.
type QualityFlag string

// Warning is a conflict between what sources say of one proposal.
type Warning struct {
	// Code names the kind of conflict.
	Code WarningCode `json:"code" msgpack:"code"`
	// Message is the meaning of the code.
	Message string `json:"message" msgpack:"message"`
	// Field is the field of a proposal's detail or vote summary that is in doubt.
	Field string `json:"field" msgpack:"field"`
	// Details hold what each side says.
	Details map[string]string `json:"details" msgpack:"details"`
}

// WarningCode names a kind of conflict.
type WarningCode string
