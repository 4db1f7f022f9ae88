package governance

// Lifecycles lists every Lifecycle.
func Lifecycles() []Lifecycle {
	return []Lifecycle{Active, Pending, Closed}
}

// AllOutcomes lists every Outcome.
func AllOutcomes() []Outcome {
	return []Outcome{Passed, Failed, Executed, Canceled, Unknown}
}

// MatchType is a way in which a proposal matches what a resolve request asks for.
type MatchType string

// The types of matches.
const (
	MatchURL           MatchType = "url_exact"
	MatchExternalID    MatchType = "external_id_exact"
	MatchTitle         MatchType = "title_exact"
	MatchTitleContains MatchType = "title_contains"
)

// MatchTypes lists every MatchType.
func MatchTypes() []MatchType {
	return []MatchType{MatchURL, MatchExternalID, MatchTitle, MatchTitleContains}
}

// MatchedField is a field that a match was found in.
type MatchedField string

// The fields that may match.
const (
	MatchedSourceURL     MatchedField = "sourceUrl"
	MatchedDiscussionURL MatchedField = "discussionUrl"
	MatchedExternalID    MatchedField = "externalId"
	MatchedTitle         MatchedField = "title"
)

// MatchedFields lists every MatchedField.
func MatchedFields() []MatchedField {
	return []MatchedField{MatchedSourceURL, MatchedDiscussionURL, MatchedExternalID, MatchedTitle}
}

// Resolution is the payload of a resolve request: empty where nothing matches.
type Resolution struct {
	// Candidates holds the proposals that match, the best first.
	Candidates []ProposalCandidate `json:"candidates" msgpack:"candidates"`
}
