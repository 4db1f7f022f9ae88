package governance

import "encoding/json"

// Evidence is the payload that lets a caller cite and audit a proposal.
type Evidence struct {
	Proposal     EvidenceProposal `json:"proposal" msgpack:"proposal"`
	Provenance   []Provenance     `json:"provenance" msgpack:"provenance"`
	Intelligence Intelligence     `json:"intelligence" msgpack:"intelligence"`
	QualityFlags []QualityFlag    `json:"qualityFlags" msgpack:"qualityFlags"`
	Warnings     []Warning        `json:"warnings" msgpack:"warnings"`
	Corrections  []Correction     `json:"corrections" msgpack:"corrections"`
}

// EvidenceProposal identifies the proposal that evidence is about.
type EvidenceProposal struct {
	ProposalKey ProposalKey `json:"proposalKey" msgpack:"proposalKey"`
	Title       *string     `json:"title" msgpack:"title"`
	SourceURL   *string     `json:"sourceUrl" msgpack:"sourceUrl"`
}

// Provenance says where one field came from, and when it was seen there.
type Provenance struct {
	Field      string    `json:"field" msgpack:"field"`
	Source     string    `json:"source" msgpack:"source"`
	Origin     *string   `json:"origin" msgpack:"origin"`
	Provider   Provider  `json:"provider" msgpack:"provider"`
	ObservedAt Timestamp `json:"observedAt" msgpack:"observedAt"`
}

// Intelligence is what is computed about a proposal from records, with the analysis that was
// imported, if any: it is kept as it came, and no number in it is read.
type Intelligence struct {
	Status          IntelligenceStatus `json:"status" msgpack:"status"`
	ArtifactVersion *string            `json:"artifactVersion" msgpack:"artifactVersion"`
	// GeneratedAt is the time of the newest record used; null for none.
	GeneratedAt *Timestamp      `json:"generatedAt" msgpack:"generatedAt"`
	Dossier     json.RawMessage `json:"dossier" msgpack:"dossier"`
	SourceRefs  json.RawMessage `json:"sourceRefs" msgpack:"sourceRefs"`
	Warnings    json.RawMessage `json:"warnings" msgpack:"warnings"`
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
	Field  string           `json:"field" msgpack:"field"`
	From   string           `json:"from" msgpack:"from"`
	To     *string          `json:"to" msgpack:"to"`
	At     Timestamp        `json:"at" msgpack:"at"`
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
	Code    WarningCode       `json:"code" msgpack:"code"`
	Message string            `json:"message" msgpack:"message"`
	Field   string            `json:"field" msgpack:"field"`
	Details map[string]string `json:"details" msgpack:"details"`
}

// WarningCode names a kind of conflict.
type WarningCode string
