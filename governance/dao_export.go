package governance

// DAOExport lists the parts in which all rows of a DAO are downloaded, or what changed of them since
// a revision.
type DAOExport struct {
	// DAOID is the DAO.
	DAOID string `json:"daoId"`
	// Revision is the place in the log of changes up to which the parts have everything, in
	// microseconds since 1970.
	Revision Decimal `json:"revision"`
	// Since is the revision of an earlier export, whose changes the parts have; null for all rows.
	Since *Decimal `json:"since"`
	// Rows counts the rows of all parts.
	Rows ExportRowCounts `json:"rows"`
	// Parts are the parts, in the order in which they apply.
	Parts []DAOExportPart `json:"parts"`
}

// ExportRowCounts counts rows by their kind.
type ExportRowCounts struct {
	// Proposals, Ballots, Topics and Events count the rows of a kind.
	Proposals int `json:"proposals"`
	Ballots   int `json:"ballots"`
	Topics    int `json:"topics"`
	Events    int `json:"events"`
	// Removed counts the rows that say that something is gone.
	Removed int `json:"removed"`
}

// DAOExportPart is a part of an export of a DAO.
type DAOExportPart struct {
	// Digest names the rows: parts with one digest have the same rows, in the same order.
	Digest string `json:"digest"`
	// Rows counts the rows.
	Rows ExportRowCounts `json:"rows"`
	// Final says that all votes in the part are over and all of their ballots held, and that it has
	// nothing else: it is not expected to change.
	Final bool `json:"final"`
	// Formats are the paths of the part in each format.
	Formats ExportPartFormats `json:"formats"`
}

// ExportPartFormats are the paths of a part, one a format.
type ExportPartFormats struct {
	// NDJSON has one JSON object a line.
	NDJSON string `json:"ndjson"`
	// CSV has comma-separated values.
	CSV string `json:"csv"`
	// Parquet is a file of Apache Parquet.
	Parquet string `json:"parquet"`
}

// ExportRowKind is the kind of a row of an export.
type ExportRowKind string

// The kinds of rows.
const (
	// ProposalRows have a proposal and the result of its vote. Such a row replaces the proposal with
	// all of its ballots, which follow.
	ProposalRows ExportRowKind = "proposal"
	// BallotRows have a ballot.
	BallotRows ExportRowKind = "ballot"
	// TopicRows have a forum topic.
	TopicRows ExportRowKind = "topic"
	// EventRows have an event.
	EventRows ExportRowKind = "event"
)

// ExportRowKinds lists all kinds of rows.
func ExportRowKinds() []ExportRowKind {
	return []ExportRowKind{ProposalRows, BallotRows, TopicRows, EventRows}
}

// DAOExportRow is a row of an export of a DAO: of the members from Proposal on, it has those of its
// kind.
type DAOExportRow struct {
	// Kind is the kind of the row.
	Kind ExportRowKind `json:"kind"`
	// Key is the proposal's key, for a ballot too, the topic's key or the event's id.
	Key string `json:"key"`
	// Removed says that what has the key is gone, a proposal with its ballots.
	Removed bool `json:"removed,omitempty"`
	// Proposal is a proposal as its detail has it.
	Proposal *ProposalDetail `json:"proposal,omitempty"`
	// Votes is the vote summary of Proposal.
	Votes *VoteSummary `json:"votes,omitempty"`
	// Ballot is a ballot.
	Ballot *ExportedBallot `json:"ballot,omitempty"`
	// Topic is a topic as its detail has it.
	Topic *ForumTopicDetail `json:"topic,omitempty"`
	// Event is an event.
	Event *Event `json:"event,omitempty"`
}
