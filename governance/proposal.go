package governance

// ProposalListItem is one row of the proposal list.
type ProposalListItem struct {
	ProposalKey     ProposalKey `json:"proposalKey" msgpack:"proposalKey"`
	Identity        Identity    `json:"identity" msgpack:"identity"`
	Title           *string     `json:"title" msgpack:"title"`
	SourceURL       *string     `json:"sourceUrl" msgpack:"sourceUrl"`
	LifecycleStatus Lifecycle   `json:"lifecycleStatus" msgpack:"lifecycleStatus"`
	Outcome         Outcome     `json:"outcome" msgpack:"outcome"`
	EndAt           *Timestamp  `json:"endAt" msgpack:"endAt"`
	CoverageStatus  Coverage    `json:"coverageStatus" msgpack:"coverageStatus"`
}

// ProposalCandidate is a proposal that a resolve request may mean.
type ProposalCandidate struct {
	ProposalKey ProposalKey `json:"proposalKey" msgpack:"proposalKey"`
	Identity    Identity    `json:"identity" msgpack:"identity"`
	Title       *string     `json:"title" msgpack:"title"`
	Match       Match       `json:"match" msgpack:"match"`
}

// Match says why a proposal is a candidate. There is no score: it would be made up.
type Match struct {
	Type          string   `json:"type" msgpack:"type"`
	MatchedFields []string `json:"matchedFields" msgpack:"matchedFields"`
}

// ProposalDetail is the payload of one proposal. What upstream does not state
// is null.
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
	// QuorumRaw is the quorum as upstream publishes it, in upstream's unit.
	QuorumRaw *string          `json:"quorumRaw" msgpack:"quorumRaw"`
	StartAt   *Timestamp       `json:"startAt" msgpack:"startAt"`
	EndAt     *Timestamp       `json:"endAt" msgpack:"endAt"`
	Related   RelatedEndpoints `json:"related" msgpack:"related"`
}

// Choice is what a ballot can support.
type Choice struct {
	// Key is "1", "2", … by position on Snapshot; "for", "against", "abstain" on
	// a Governor.
	Key   string `json:"key" msgpack:"key"`
	Label string `json:"label" msgpack:"label"`
}

// RelatedEndpoints holds the paths of a proposal's other endpoints.
type RelatedEndpoints struct {
	VoteSummary string `json:"voteSummary" msgpack:"voteSummary"`
	Votes       string `json:"votes" msgpack:"votes"`
	Evidence    string `json:"evidence" msgpack:"evidence"`
}
