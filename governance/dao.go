package governance

// DataStatus is the payload of the data status, global or of one DAO.
type DataStatus struct {
	Scope                string         `json:"scope" msgpack:"scope"`
	DAOID                *string        `json:"daoId" msgpack:"daoId"`
	LatestSuccessfulSync LatestSync     `json:"latestSuccessfulSync" msgpack:"latestSuccessfulSync"`
	CoverageStatus       Coverage       `json:"coverageStatus" msgpack:"coverageStatus"`
	VoteCoverageStatus   VoteCoverage   `json:"voteCoverageStatus" msgpack:"voteCoverageStatus"`
	Sources              []SourceStatus `json:"sources,omitempty" msgpack:"sources,omitempty"`
	SourceCounts         []SourceCount  `json:"sourceCounts,omitempty" msgpack:"sourceCounts,omitempty"`
}

// The scopes of a data status.
const (
	ScopeGlobal = "global"
	ScopeDAO    = "dao"
)

// LatestSync holds when upstream was last read to the end, of imported sources as of when their
// records are; null means never.
type LatestSync struct {
	GovernanceAt *Timestamp `json:"governanceAt" msgpack:"governanceAt"`
	ForumAt      *Timestamp `json:"forumAt" msgpack:"forumAt"`
}

// DAOListItem is one row of the DAO list.
type DAOListItem struct {
	DAOID              string         `json:"daoId" msgpack:"daoId"`
	Name               string         `json:"name" msgpack:"name"`
	Flagged            bool           `json:"flagged,omitempty" msgpack:"flagged,omitempty"`
	HasVoteData        bool           `json:"hasVoteData" msgpack:"hasVoteData"`
	HasForumData       bool           `json:"hasForumData" msgpack:"hasForumData"`
	CoverageStatus     Coverage       `json:"coverageStatus" msgpack:"coverageStatus"`
	VoteCoverageStatus VoteCoverage   `json:"voteCoverageStatus" msgpack:"voteCoverageStatus"`
	ProposalCounts     ListCounts     `json:"proposalCounts" msgpack:"proposalCounts"`
	LatestActivity     LatestActivity `json:"latestActivity" msgpack:"latestActivity"`
}

// ListCounts counts a DAO's proposals in a list.
type ListCounts struct {
	Total  uint64 `json:"total" msgpack:"total"`
	Active uint64 `json:"active" msgpack:"active"`
}

// LatestActivity holds when something last happened in a DAO; null means never, or at no known time.
type LatestActivity struct {
	ProposalAt *Timestamp `json:"proposalAt" msgpack:"proposalAt"`
	VoteAt     *Timestamp `json:"voteAt" msgpack:"voteAt"`
	ForumAt    *Timestamp `json:"forumAt" msgpack:"forumAt"`
}

// DAODetail is the payload of one DAO.
type DAODetail struct {
	DAOID string `json:"daoId" msgpack:"daoId"`
	Name  string `json:"name" msgpack:"name"`
	// Flagged is true for spam: the proposals of the DAO are spam as well.
	Flagged            bool           `json:"flagged,omitempty" msgpack:"flagged,omitempty"`
	CoverageStatus     Coverage       `json:"coverageStatus" msgpack:"coverageStatus"`
	VoteCoverageStatus VoteCoverage   `json:"voteCoverageStatus" msgpack:"voteCoverageStatus"`
	ProposalCounts     ProposalCounts `json:"proposalCounts" msgpack:"proposalCounts"`
	Outcomes           Outcomes       `json:"outcomes" msgpack:"outcomes"`
	Participation      Participation  `json:"participation" msgpack:"participation"`
	SourceTypes        []Provider     `json:"sourceTypes" msgpack:"sourceTypes"`
	// Sources says how new the records of each source are. The API adds it.
	Sources []SourceFreshness `json:"sources,omitempty" msgpack:"sources,omitempty"`
}

// ProposalCounts counts a DAO's proposals by lifecycle; Total is the sum of the other three.
type ProposalCounts struct {
	Total   uint64 `json:"total" msgpack:"total"`
	Active  uint64 `json:"active" msgpack:"active"`
	Pending uint64 `json:"pending" msgpack:"pending"`
	Closed  uint64 `json:"closed" msgpack:"closed"`
}

// Outcomes counts a DAO's proposals by outcome; the sum is ProposalCounts.Total.
type Outcomes struct {
	Passed   uint64 `json:"passed" msgpack:"passed"`
	Failed   uint64 `json:"failed" msgpack:"failed"`
	Executed uint64 `json:"executed" msgpack:"executed"`
	Canceled uint64 `json:"canceled" msgpack:"canceled"`
	Unknown  uint64 `json:"unknown" msgpack:"unknown"`
}

// Participation sums a DAO's ballots: one a voter and proposal, the latest.
type Participation struct {
	UniqueVoters     Decimal `json:"uniqueVoters" msgpack:"uniqueVoters"`
	TotalVotes       Decimal `json:"totalVotes" msgpack:"totalVotes"`
	TotalVotingPower Decimal `json:"totalVotingPower" msgpack:"totalVotingPower"`
}

// Metrics of a timeline.
const (
	ProposalsCreated = "proposals_created"
	VotesCast        = "votes_cast"
)

// TimelineMetrics lists the metrics of timelines.
func TimelineMetrics() []string { return []string{ProposalsCreated, VotesCast} }

// Timeline is a metric of a DAO by month.
type Timeline struct {
	DAOID   string           `json:"daoId" msgpack:"daoId"`
	Metric  string           `json:"metric" msgpack:"metric"`
	Buckets []TimelineBucket `json:"buckets" msgpack:"buckets"`
	Undated Decimal          `json:"undated" msgpack:"undated"`
}

// TimelineBucket is one month of a timeline.
type TimelineBucket struct {
	Month string  `json:"month" msgpack:"month"`
	Value Decimal `json:"value" msgpack:"value"`
}
