package governance

import "strings"

// ProposalListItem is one row of the proposal list.
type ProposalListItem struct {
	ProposalKey     ProposalKey `json:"proposalKey" msgpack:"proposalKey"`
	Identity        Identity    `json:"identity" msgpack:"identity"`
	Title           *string     `json:"title" msgpack:"title"`
	SourceURL       *string     `json:"sourceUrl" msgpack:"sourceUrl"`
	LifecycleStatus Lifecycle   `json:"lifecycleStatus" msgpack:"lifecycleStatus"`
	Outcome         Outcome     `json:"outcome" msgpack:"outcome"`
	EndAt           *Timestamp  `json:"endAt" msgpack:"endAt"`
	StartAt         *Timestamp  `json:"startAt" msgpack:"startAt"`
	CreatedAt       *Timestamp  `json:"createdAt" msgpack:"createdAt"`
	ProposerID      *string     `json:"proposerId" msgpack:"proposerId"`
	CoverageStatus  Coverage    `json:"coverageStatus" msgpack:"coverageStatus"`
	Flagged         bool        `json:"flagged,omitempty" msgpack:"flagged,omitempty"`
}

// ProposalCandidate is a proposal that a resolve request may mean.
type ProposalCandidate struct {
	ProposalKey ProposalKey `json:"proposalKey" msgpack:"proposalKey"`
	Identity    Identity    `json:"identity" msgpack:"identity"`
	Title       *string     `json:"title" msgpack:"title"`
	Match       Match       `json:"match" msgpack:"match"`
	Flagged     bool        `json:"flagged,omitempty" msgpack:"flagged,omitempty"`
}

// Match says why a proposal is a candidate. There is no score: it would be made up.
type Match struct {
	Type          MatchType      `json:"type" msgpack:"type"`
	MatchedFields []MatchedField `json:"matchedFields" msgpack:"matchedFields"`
}

// ProposalDetail is the payload of one proposal. What upstream does not state is null.
type ProposalDetail struct {
	ProposalKey     ProposalKey `json:"proposalKey" msgpack:"proposalKey"`
	Identity        Identity    `json:"identity" msgpack:"identity"`
	Title           *string     `json:"title" msgpack:"title"`
	BodyText        *string     `json:"bodyText" msgpack:"bodyText"`
	ProposerID      *string     `json:"proposerId" msgpack:"proposerId"`
	SourceURL       *string     `json:"sourceUrl" msgpack:"sourceUrl"`
	DiscussionURL   *string     `json:"discussionUrl" msgpack:"discussionUrl"`
	LifecycleStatus Lifecycle   `json:"lifecycleStatus" msgpack:"lifecycleStatus"`
	Outcome         Outcome     `json:"outcome" msgpack:"outcome"`
	Choices         []Choice    `json:"choices" msgpack:"choices"`
	QuorumRaw       *string     `json:"quorumRaw" msgpack:"quorumRaw"`
	StartAt         *Timestamp  `json:"startAt" msgpack:"startAt"`
	EndAt           *Timestamp  `json:"endAt" msgpack:"endAt"`
	CreatedAt       *Timestamp  `json:"createdAt" msgpack:"createdAt"`
	UpdatedAt       *Timestamp  `json:"updatedAt" msgpack:"updatedAt"`
	VoteType        *string     `json:"voteType" msgpack:"voteType"`
	// Flagged is true for spam, which is in no list unless asked for, and in no sum.
	Flagged bool             `json:"flagged,omitempty" msgpack:"flagged,omitempty"`
	Related RelatedEndpoints `json:"related" msgpack:"related"`
}

// ProposalRow is a proposal as the cache stores it: with what lists of its ballots need.
type ProposalRow struct {
	ProposalDetail
	// Bounds say which ballots are valid.
	Bounds ChoiceBounds `json:"-" msgpack:"bounds"`
}

// Choice is what a ballot can support.
type Choice struct {
	Key   string `json:"key" msgpack:"key"`
	Label string `json:"label" msgpack:"label"`
}

// RelatedEndpoints holds the paths of a proposal's other endpoints.
type RelatedEndpoints struct {
	VoteSummary string `json:"voteSummary" msgpack:"voteSummary"`
	Votes       string `json:"votes" msgpack:"votes"`
	Evidence    string `json:"evidence" msgpack:"evidence"`
}

// Paths of a proposal's endpoints, in which :proposalKey stands for its key.
const (
	PathProposal    = "/v2/proposals/:proposalKey"
	PathVoteSummary = PathProposal + "/votes/summary"
	PathVotes       = PathProposal + "/votes"
	PathEvidence    = PathProposal + "/evidence"
)

// RelatedTo returns the paths of the other endpoints of a proposal.
func RelatedTo(key ProposalKey) RelatedEndpoints {
	path := func(route string) string { return strings.Replace(route, ":proposalKey", string(key), 1) }
	return RelatedEndpoints{VoteSummary: path(PathVoteSummary), Votes: path(PathVotes), Evidence: path(PathEvidence)}
}

// Lifecycles lists every Lifecycle.
func Lifecycles() []Lifecycle { return []Lifecycle{Active, Pending, Closed} }

// AllOutcomes lists every Outcome.
func AllOutcomes() []Outcome { return []Outcome{Passed, Failed, Executed, Canceled, Unknown} }

// MatchType is a way in which a proposal matches what a resolve request asks for.
type MatchType string

// The types of matches.
const (
	MatchURL           MatchType = "url_exact"
	MatchExternalID    MatchType = "external_id_exact"
	MatchTitle         MatchType = "title_exact"
	MatchTitleContains MatchType = "title_contains"
)

// MatchedField is a field that a match was found in.
type MatchedField string

// The fields that may match.
const (
	MatchedSourceURL     MatchedField = "sourceUrl"
	MatchedDiscussionURL MatchedField = "discussionUrl"
	MatchedExternalID    MatchedField = "externalId"
	MatchedTitle         MatchedField = "title"
)

// Resolution is the payload of a resolve request: empty where nothing matches.
type Resolution struct {
	Candidates []ProposalCandidate `json:"candidates" msgpack:"candidates"`
}
