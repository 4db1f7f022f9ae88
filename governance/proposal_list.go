package governance

// Orders of lists.
const (
	// SortUpdated and SortCreated put the newest first.
	SortUpdated = "updatedDesc"
	SortCreated = "createdDesc"
	// SortEnding puts active proposals first, then pending ones, each by their end,
	// the soonest first; then closed ones, the last that ended first.
	SortEnding = "endingSoon"
)

// SortReplies puts the topics with the most replies first.
const SortReplies = "repliesDesc"

// TopicSorts lists the orders of the topic list.
func TopicSorts() []string {
	return []string{SortUpdated, SortCreated, SortReplies}
}

// ProposalSorts lists the orders of the proposal list.
func ProposalSorts() []string {
	return []string{SortUpdated, SortCreated, SortEnding}
}

// Times of a proposal that the list can be narrowed by.
const (
	FieldCreatedAt = "createdAt"
	FieldStartAt   = "startAt"
	FieldEndAt     = "endAt"
	FieldUpdatedAt = "updatedAt"
)

// ProposalTimeFields lists the times of a proposal.
func ProposalTimeFields() []string {
	return []string{FieldCreatedAt, FieldStartAt, FieldEndAt, FieldUpdatedAt}
}

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
