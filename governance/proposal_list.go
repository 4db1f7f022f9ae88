package governance

// Lifecycles lists every Lifecycle.
func Lifecycles() []Lifecycle {
	return []Lifecycle{Active, Pending, Closed}
}

// AllOutcomes lists every Outcome.
func AllOutcomes() []Outcome {
	return []Outcome{Passed, Failed, Executed, Canceled, Unknown}
}

// Ways in which a proposal matches what a resolve request asks for, and the fields
// that may match.
const (
	MatchURL           = "url_exact"
	MatchExternalID    = "external_id_exact"
	MatchTitle         = "title_exact"
	MatchTitleContains = "title_contains"

	MatchedSourceURL     = "sourceUrl"
	MatchedDiscussionURL = "discussionUrl"
	MatchedExternalID    = "externalId"
	MatchedTitle         = "title"
)

// Resolution is the payload of a resolve request: empty where nothing matches.
type Resolution struct {
	// Candidates holds the proposals that match, the best first.
	Candidates []ProposalCandidate `json:"candidates" msgpack:"candidates"`
}
