package governance

import (
	"strings"
)

// ProposalListItem is one row of the proposal list.
type ProposalListItem struct {
	// ProposalKey is the key of the proposal.
	ProposalKey ProposalKey `json:"proposalKey" msgpack:"proposalKey"`
	// Identity says where it comes from.
	Identity Identity `json:"identity" msgpack:"identity"`
	// Title is the title, or what stands for it; null where upstream states neither title nor text.
	Title *string `json:"title" msgpack:"title"`
	// SourceURL is the address of the page upstream; null where unknown.
	SourceURL *string `json:"sourceUrl" msgpack:"sourceUrl"`
	// LifecycleStatus is the state of the voting.
	LifecycleStatus Lifecycle `json:"lifecycleStatus" msgpack:"lifecycleStatus"`
	// Outcome is the result of the proposal.
	Outcome Outcome `json:"outcome" msgpack:"outcome"`
	// EndAt is when the voting ends; null where unknown.
	EndAt *Timestamp `json:"endAt" msgpack:"endAt"`
	// StartAt is when the voting starts; null where unknown.
	StartAt *Timestamp `json:"startAt" msgpack:"startAt"`
	// CreatedAt is when it was created upstream, else when voting starts; null where unknown.
	CreatedAt *Timestamp `json:"createdAt" msgpack:"createdAt"`
	// ProposerID identifies the proposer; null where unknown.
	ProposerID *string `json:"proposerId" msgpack:"proposerId"`
	// CoverageStatus says how much of the upstream data is stored.
	CoverageStatus Coverage `json:"coverageStatus" msgpack:"coverageStatus"`
	// Flagged is true if the provider marks the proposal as spam.
	Flagged bool `json:"flagged,omitempty" msgpack:"flagged,omitempty"`
}

// ProposalCandidate is a proposal that a resolve request may mean.
type ProposalCandidate struct {
	// ProposalKey is the key of the proposal.
	ProposalKey ProposalKey `json:"proposalKey" msgpack:"proposalKey"`
	// Identity says where it comes from.
	Identity Identity `json:"identity" msgpack:"identity"`
	// Title is the title, or what stands for it; null where upstream states neither title nor text.
	Title *string `json:"title" msgpack:"title"`
	// Match says why the proposal is a candidate.
	Match Match `json:"match" msgpack:"match"`
	// Flagged is true if the provider marks the proposal as spam.
	Flagged bool `json:"flagged,omitempty" msgpack:"flagged,omitempty"`
}

// Match says why a proposal is a candidate. There is no score: it would be made up.
type Match struct {
	// Type is the kind of match.
	Type MatchType `json:"type" msgpack:"type"`
	// MatchedFields names the fields that match.
	MatchedFields []MatchedField `json:"matchedFields" msgpack:"matchedFields"`
}

// ProposalDetail is the payload of one proposal. What upstream does not state
// is null.
type ProposalDetail struct {
	// ProposalKey is the key of the proposal.
	ProposalKey ProposalKey `json:"proposalKey" msgpack:"proposalKey"`
	// Identity says where it comes from.
	Identity Identity `json:"identity" msgpack:"identity"`
	// Title is the title, or what stands for it; null where upstream states neither title nor text.
	Title *string `json:"title" msgpack:"title"`
	// BodyText is the text of the proposal; null where upstream states none.
	BodyText *string `json:"bodyText" msgpack:"bodyText"`
	// ProposerID identifies the proposer; null where unknown.
	ProposerID *string `json:"proposerId" msgpack:"proposerId"`
	// SourceURL is the address of the page upstream; null where unknown.
	SourceURL *string `json:"sourceUrl" msgpack:"sourceUrl"`
	// DiscussionURL is the address of the discussion; null where upstream states none.
	DiscussionURL *string `json:"discussionUrl" msgpack:"discussionUrl"`
	// LifecycleStatus is the state of the voting.
	LifecycleStatus Lifecycle `json:"lifecycleStatus" msgpack:"lifecycleStatus"`
	// Outcome is the result of the proposal.
	Outcome Outcome `json:"outcome" msgpack:"outcome"`
	// Choices holds the choices, in order.
	Choices []Choice `json:"choices" msgpack:"choices"`
	// QuorumRaw is the quorum as upstream publishes it, in upstream's unit.
	QuorumRaw *string `json:"quorumRaw" msgpack:"quorumRaw"`
	// StartAt is when the voting starts; null where unknown.
	StartAt *Timestamp `json:"startAt" msgpack:"startAt"`
	// EndAt is when the voting ends; null where unknown.
	EndAt *Timestamp `json:"endAt" msgpack:"endAt"`
	// CreatedAt is when it was created upstream, else when voting starts; null where unknown.
	CreatedAt *Timestamp `json:"createdAt" msgpack:"createdAt"`
	// UpdatedAt is when it last changed; null where unknown.
	UpdatedAt *Timestamp `json:"updatedAt" msgpack:"updatedAt"`
	// VoteType is how ballots are counted; null where upstream does not say.
	VoteType *string `json:"voteType" msgpack:"voteType"`
	// Flagged is true if the provider marks the proposal as spam: it is in no list unless asked
	// for, and in no sum.
	Flagged bool `json:"flagged,omitempty" msgpack:"flagged,omitempty"`
	// Related holds the paths of the proposal's other endpoints.
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
	// Key is "1", "2", … by position on Snapshot; "for", "against", "abstain" on
	// a Governor.
	Key string `json:"key" msgpack:"key"`
	// Label is the text of the choice.
	Label string `json:"label" msgpack:"label"`
}

// RelatedEndpoints holds the paths of a proposal's other endpoints.
type RelatedEndpoints struct {
	// VoteSummary is the path of the vote summary.
	VoteSummary string `json:"voteSummary" msgpack:"voteSummary"`
	// Votes is the path of the ballots.
	Votes string `json:"votes" msgpack:"votes"`
	// Evidence is the path of the evidence.
	Evidence string `json:"evidence" msgpack:"evidence"`
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
