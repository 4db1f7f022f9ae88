package governance

// DAOExport lists the parts in which a DAO is downloaded, or what changed of it since a revision.
type DAOExport struct {
	DAOID string `json:"daoId"`
	// Revision is the place in the log up to which the parts have everything, in microseconds since 1970.
	Revision Decimal         `json:"revision"`
	Since    *Decimal        `json:"since"`
	Rows     ExportRowCounts `json:"rows"`
	Parts    []DAOExportPart `json:"parts"`
}

// ExportRowCounts counts rows by their kind.
type ExportRowCounts struct {
	Proposals int `json:"proposals"`
	Ballots   int `json:"ballots"`
	Topics    int `json:"topics"`
	Events    int `json:"events"`
	Removed   int `json:"removed"`
}

// DAOExportPart is a part of an export of a DAO.
type DAOExportPart struct {
	// Digest names the rows: parts with one digest have the same rows, in the same order.
	Digest  string            `json:"digest"`
	Rows    ExportRowCounts   `json:"rows"`
	Final   bool              `json:"final"`
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
	return map[ExportFormat]string{
		ExportNDJSON: "application/x-ndjson", ExportCSV: "text/csv; charset=utf-8; header=present",
		ExportParquet: "application/vnd.apache.parquet",
	}[f]
}

// ExportPartFormats are the paths of a part, one a format.
type ExportPartFormats struct {
	NDJSON  string `json:"ndjson"`
	CSV     string `json:"csv"`
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
	BallotRows   ExportRowKind = "ballot"
	TopicRows    ExportRowKind = "topic"
	EventRows    ExportRowKind = "event"
)

// ExportRowKinds lists all kinds of rows.
func ExportRowKinds() []ExportRowKind {
	return []ExportRowKind{ProposalRows, BallotRows, TopicRows, EventRows}
}

// DAOExportRow is a row of an export of a DAO: from Proposal on, it has the members of its kind.
type DAOExportRow struct {
	Kind     ExportRowKind     `json:"kind"`
	Key      string            `json:"key"`
	Removed  bool              `json:"removed,omitempty"`
	Proposal *ProposalDetail   `json:"proposal,omitempty"`
	Votes    *VoteSummary      `json:"votes,omitempty"`
	Ballot   *ExportedBallot   `json:"ballot,omitempty"`
	Topic    *ForumTopicDetail `json:"topic,omitempty"`
	Event    *Event            `json:"event,omitempty"`
}

// BallotExport lists the parts of all ballots of a proposal, as they were at one moment.
type BallotExport struct {
	ProposalKey ProposalKey  `json:"proposalKey"`
	Revision    string       `json:"revision"`
	Votes       Decimal      `json:"votes"`
	VotingPower Decimal      `json:"votingPower"`
	Basis       *Basis       `json:"basis"`
	Totals      *VoteTotals  `json:"totals"`
	Flagged     bool         `json:"flagged,omitempty" msgpack:"flagged,omitempty"`
	Final       bool         `json:"final"`
	Parts       []ExportPart `json:"parts"`
}

// ExportPart is a part of an export.
type ExportPart struct {
	Href  string `json:"href"`
	First int    `json:"first"`
	Rows  int    `json:"rows"`
}
