package governance

// DataStatus is the payload of the data status, global or of one DAO.
type DataStatus struct {
	// Scope is "global", or "dao" when DAOID is given.
	Scope string `json:"scope" msgpack:"scope"`
	// DAOID is null in the global status.
	DAOID *string `json:"daoId" msgpack:"daoId"`
	// LatestSuccessfulSync holds when each kind of source was last read completely.
	LatestSuccessfulSync LatestSync `json:"latestSuccessfulSync" msgpack:"latestSuccessfulSync"`
	// CoverageStatus says how much of the upstream data is stored.
	CoverageStatus Coverage `json:"coverageStatus" msgpack:"coverageStatus"`
	// VoteCoverageStatus says how many of the upstream ballots are stored.
	VoteCoverageStatus VoteCoverage `json:"voteCoverageStatus" msgpack:"voteCoverageStatus"`
	// Sources says how following each source of the DAO goes, and how new its records are. It
	// is absent from the global status.
	Sources []SourceStatus `json:"sources,omitempty" msgpack:"sources,omitempty"`
	// SourceCounts counts all followed sources by state. It is absent from the status of a
	// DAO, and where nothing is followed.
	SourceCounts []SourceCount `json:"sourceCounts,omitempty" msgpack:"sourceCounts,omitempty"`
}

// The scopes of a data status.
const (
	ScopeGlobal = "global"
	ScopeDAO    = "dao"
)

// LatestSync holds when upstream was last read to the end, of imported sources as of when their
// records are; null means never.
type LatestSync struct {
	// GovernanceAt is the time for proposals and ballots.
	GovernanceAt *Timestamp `json:"governanceAt" msgpack:"governanceAt"`
	// ForumAt is the time for forum topics.
	ForumAt *Timestamp `json:"forumAt" msgpack:"forumAt"`
}

// DAOListItem is one row of the DAO list.
type DAOListItem struct {
	// DAOID is the id of the DAO.
	DAOID string `json:"daoId" msgpack:"daoId"`
	// Name is the display name.
	Name string `json:"name" msgpack:"name"`
	// Flagged is true if the provider marks the DAO's spaces as spam: it is in no list unless
	// asked for, and its proposals are spam.
	Flagged bool `json:"flagged,omitempty" msgpack:"flagged,omitempty"`
	// HasVoteData says whether any ballot is stored.
	HasVoteData bool `json:"hasVoteData" msgpack:"hasVoteData"`
	// HasForumData says whether any forum topic is stored.
	HasForumData bool `json:"hasForumData" msgpack:"hasForumData"`
	// CoverageStatus says how much of the upstream data is stored.
	CoverageStatus Coverage `json:"coverageStatus" msgpack:"coverageStatus"`
	// VoteCoverageStatus says how many of the upstream ballots are stored.
	VoteCoverageStatus VoteCoverage `json:"voteCoverageStatus" msgpack:"voteCoverageStatus"`
	// ProposalCounts counts the proposals.
	ProposalCounts ListCounts `json:"proposalCounts" msgpack:"proposalCounts"`
	// LatestActivity holds the times of the latest activity.
	LatestActivity LatestActivity `json:"latestActivity" msgpack:"latestActivity"`
}

// ListCounts counts a DAO's proposals in a list.
type ListCounts struct {
	// Total is the number of all proposals.
	Total uint64 `json:"total" msgpack:"total"`
	// Active is the number of proposals that can be voted on.
	Active uint64 `json:"active" msgpack:"active"`
}

// LatestActivity holds when something last happened in a DAO; null means never,
// or at no known time.
type LatestActivity struct {
	// ProposalAt is the time of the latest proposal.
	ProposalAt *Timestamp `json:"proposalAt" msgpack:"proposalAt"`
	// VoteAt is the time of the latest ballot.
	VoteAt *Timestamp `json:"voteAt" msgpack:"voteAt"`
	// ForumAt is the time for forum topics.
	ForumAt *Timestamp `json:"forumAt" msgpack:"forumAt"`
}

// DAODetail is the payload of one DAO.
type DAODetail struct {
	// DAOID is the id of the DAO.
	DAOID string `json:"daoId" msgpack:"daoId"`
	// Name is the display name.
	Name string `json:"name" msgpack:"name"`
	// Flagged is true if the provider marks the DAO's spaces as spam: it is in no list unless
	// asked for, and its proposals are spam.
	Flagged bool `json:"flagged,omitempty" msgpack:"flagged,omitempty"`
	// CoverageStatus says how much of the upstream data is stored.
	CoverageStatus Coverage `json:"coverageStatus" msgpack:"coverageStatus"`
	// VoteCoverageStatus says how many of the upstream ballots are stored.
	VoteCoverageStatus VoteCoverage `json:"voteCoverageStatus" msgpack:"voteCoverageStatus"`
	// ProposalCounts counts the proposals.
	ProposalCounts ProposalCounts `json:"proposalCounts" msgpack:"proposalCounts"`
	// Outcomes counts the proposals by outcome.
	Outcomes Outcomes `json:"outcomes" msgpack:"outcomes"`
	// Participation sums the ballots.
	Participation Participation `json:"participation" msgpack:"participation"`
	// SourceTypes names the upstream systems that make up the DAO, in
	// alphabetical order.
	SourceTypes []Provider `json:"sourceTypes" msgpack:"sourceTypes"`
	// Sources says how new the records of each source are. The API adds it.
	Sources []SourceFreshness `json:"sources,omitempty" msgpack:"sources,omitempty"`
}

// ProposalCounts counts a DAO's proposals by lifecycle; Total is the sum of the
// other three.
type ProposalCounts struct {
	// Total is the number of all proposals.
	Total uint64 `json:"total" msgpack:"total"`
	// Active is the number of proposals that can be voted on.
	Active uint64 `json:"active" msgpack:"active"`
	// Pending is the number of proposals whose voting has not started.
	Pending uint64 `json:"pending" msgpack:"pending"`
	// Closed is the number of proposals whose voting has ended.
	Closed uint64 `json:"closed" msgpack:"closed"`
}

// Outcomes counts a DAO's proposals by outcome; the sum is ProposalCounts.Total.
type Outcomes struct {
	// Passed is the number of proposals that passed.
	Passed uint64 `json:"passed" msgpack:"passed"`
	// Failed is the number of proposals that failed.
	Failed uint64 `json:"failed" msgpack:"failed"`
	// Executed is the number of proposals that were executed.
	Executed uint64 `json:"executed" msgpack:"executed"`
	// Canceled is the number of proposals that were canceled.
	Canceled uint64 `json:"canceled" msgpack:"canceled"`
	// Unknown is the number of proposals without a known outcome.
	Unknown uint64 `json:"unknown" msgpack:"unknown"`
}

// Participation sums a DAO's ballots: one a voter and proposal, the latest.
type Participation struct {
	// UniqueVoters is the number of voters.
	UniqueVoters Decimal `json:"uniqueVoters" msgpack:"uniqueVoters"`
	// TotalVotes is the number of ballots.
	TotalVotes Decimal `json:"totalVotes" msgpack:"totalVotes"`
	// TotalVotingPower is the sum of the voting power.
	TotalVotingPower Decimal `json:"totalVotingPower" msgpack:"totalVotingPower"`
}

// Metrics of a timeline.
const (
	ProposalsCreated = "proposals_created"
	VotesCast        = "votes_cast"
)

// TimelineMetrics lists the metrics of timelines.
func TimelineMetrics() []string {
	return []string{ProposalsCreated, VotesCast}
}

// Timeline is a metric of a DAO by month.
type Timeline struct {
	// DAOID is the id of the DAO.
	DAOID string `json:"daoId" msgpack:"daoId"`
	// Metric is the name of the metric.
	Metric string `json:"metric" msgpack:"metric"`
	// Buckets holds the months, in order.
	Buckets []TimelineBucket `json:"buckets" msgpack:"buckets"`
	// Undated is how many are in no month as far as is known, whatever months are asked for.
	Undated Decimal `json:"undated" msgpack:"undated"`
}

// TimelineBucket is one month of a timeline.
type TimelineBucket struct {
	// Month is YYYY-MM, UTC.
	Month string `json:"month" msgpack:"month"`
	// Value is the value of the metric in that month.
	Value Decimal `json:"value" msgpack:"value"`
}
