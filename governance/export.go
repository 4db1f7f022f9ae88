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

// ExportFormat is the form of the rows of a part. Package fill writes each.
type ExportFormat string

// The formats.
const (
	ExportNDJSON  ExportFormat = "ndjson"
	ExportCSV     ExportFormat = "csv"
	ExportParquet ExportFormat = "parquet"
)

// ExportFormats lists all formats, in the order of documents.
func ExportFormats() []ExportFormat { return []ExportFormat{ExportNDJSON, ExportCSV, ExportParquet} }

// Media returns the media type of the format.
func (f ExportFormat) Media() string {
	switch f {
	case ExportCSV:
		return "text/csv; charset=utf-8; header=present"
	case ExportParquet:
		return "application/vnd.apache.parquet"
	case ExportNDJSON:
	}
	return "application/x-ndjson"
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

// PartFormats returns the paths of a part: path with the name of each format behind it.
func PartFormats(path string) ExportPartFormats {
	return ExportPartFormats{NDJSON: path + string(ExportNDJSON), CSV: path + string(ExportCSV), Parquet: path + string(ExportParquet)}
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

// DAOExportRow is a row of an export of a DAO: of the members from Proposal on, it has the members of
// its kind.
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

// BallotExport lists the parts of all ballots of a proposal, as they were at one moment.
type BallotExport struct {
	// ProposalKey is the proposal.
	ProposalKey ProposalKey `json:"proposalKey"`
	// Revision names the ballots that the parts have, in their order, with their labels.
	Revision string `json:"revision"`
	// Votes is the number of ballots in all parts.
	Votes Decimal `json:"votes"`
	// VotingPower is the sum of their voting power.
	VotingPower Decimal `json:"votingPower"`
	// Basis and Totals are the vote summary's.
	Basis  *Basis      `json:"basis"`
	Totals *VoteTotals `json:"totals"`
	// Flagged is true if the provider marks the proposal as spam.
	Flagged bool `json:"flagged,omitempty" msgpack:"flagged,omitempty"`
	// Final says that the vote is closed and that the parts have all of its ballots.
	Final bool `json:"final"`
	// Parts are the parts, in their order; empty without votes.
	Parts []ExportPart `json:"parts"`
}

// ExportPart is a part of an export.
type ExportPart struct {
	// Href is the path of the part.
	Href string `json:"href"`
	// First is how many ballots come before the part.
	First int `json:"first"`
	// Rows is the number of its ballots.
	Rows int `json:"rows"`
}
