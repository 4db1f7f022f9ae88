package governance

// ChangeKind is what a change is about.
type ChangeKind string

// The kinds of changes.
const (
	// ProposalChange is one of a proposal: of its detail, votes, evidence or ballots.
	ProposalChange ChangeKind = "proposal"
	// DAOChange is one of a DAO: of its detail, timelines, row in the list or ranking.
	DAOChange    ChangeKind = "dao"
	TopicChange  ChangeKind = "topic"
	EventChange  ChangeKind = "event"
	SignalChange ChangeKind = "signal"
)

// Change says that what has a key was published, differs or is gone since.
type Change struct {
	Kind  ChangeKind `json:"kind"`
	Key   string     `json:"key"`
	DAOID string     `json:"daoId"`
	// ChangedAt is when the publication read its data. Answers with the change have no earlier meta.dataAsOf.
	ChangedAt Timestamp `json:"changedAt"`
	Revision  Decimal   `json:"revision"`
}
