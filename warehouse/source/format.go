package source

import (
	"fmt"
	"slices"
	"strings"

	"pnyx/warehouse/record"
)

// Format is the name of a shape of lines: "Snapshot vote". The empty Format is the format of
// a file without records.
type Format string

// The formats in which upstream systems answer.
const (
	SnapshotSpace     Format = "Snapshot space"
	SnapshotProposal  Format = "Snapshot proposal"
	SnapshotVote      Format = "Snapshot vote"
	TallyOrganization Format = "Tally organization"
	TallyProposal     Format = "Tally proposal"
	TallyVote         Format = "Tally vote"
	DiscourseCategory Format = "Discourse category"
	DiscourseTopic    Format = "Discourse topic"
)

// format describes one shape of lines. Adding a format takes one entry in formatTable
// and one read function; docs/sources.md is generated from the table (see document_test.go).
type format struct {
	name Format
	// kind is the kind of the records. It is empty for canonical lines, which are of several kinds.
	kind record.Kind
	// needsHost is true if lines do not state the forum they belong to. The folder of
	// such a file is named after the forum's host.
	needsHost bool
	// matches reports whether an object has the fields that identify the format. It
	// does not check their values; read does.
	matches func(object) bool
	// read returns the record of a line. The record is valid if the line has no
	// reason for rejection.
	read func(object) record.Record
	// fields lists typical fields, for error messages.
	fields string
	// example is a short valid line, for docs/sources.md and tests.
	example string
	// doc is the row of docs/sources.md; empty for canonical lines, which have a section of
	// their own.
	doc formatDoc
}

// formatDoc documents a format for users, in Markdown.
type formatDoc struct {
	// files says what a file of the format contains: "Snapshot votes".
	files string
	// identifiedBy lists the fields that identify the format.
	identifiedBy string
	// record is the record that a line becomes.
	record string
	// required lists the fields that must have a value.
	required string
}

// formatTable lists every format. Of several that match a line the first one applies.
var formatTable = []format{ //nolint:gochecknoglobals // a constant table, read for every line
	{
		name: "canonical record", read: readCanonical, fields: "record, version",
		matches: func(in object) bool { return in.has("record") },
		example: `{"record":"event","version":1,"eventId":"e",` +
			`"eventType":"dao_announcement","eventTimeMs":"2026-03-04",` +
			`"daoId":"harbor"}`,
	},
	{
		name: SnapshotVote, kind: record.KindBallot, read: readSnapshotVote,
		matches: func(in object) bool { return in.hasAny("vp", "choice") },
		fields:  "id, proposal, voter, choice, vp",
		doc: formatDoc{
			"Snapshot votes", "`voter` and `vp` or `choice`",
			"ballot", "`id`, `proposal.id`, `voter`, `vp`, `choice`",
		},
		example: `{"id":"v","proposal":{"id":"0xAB"},"space":{"id":"harbor.eth"},` +
			`"voter":"0x1","created":null,"choice":1,"vp":1}`,
	},
	{
		name: TallyVote, kind: record.KindBallot, read: readTallyVote,
		matches: func(in object) bool { return in.hasAny("amount", "type") },
		fields:  "id, proposal, voter, type, amount",
		doc: formatDoc{
			"Tally votes", "`voter` and `type` or `amount`",
			"ballot", "`id`, `proposal.id`, `voter.address`, `type`, `amount`",
		},
		example: `{"id":"v","proposal":{"id":"1"},"type":"for",` +
			`"voter":{"address":"0x1"},"amount":"1"}`,
	},
	{
		name: SnapshotProposal, kind: record.KindProposal, read: readSnapshotProposal,
		matches: func(in object) bool { return in.has("space") && !in.has("proposal") },
		fields:  "id, space, author, choices",
		doc: formatDoc{
			"Snapshot proposals", "`space` without `voter` or `proposal`",
			"proposal", "`id`, `space.id`",
		},
		example: `{"id":"0xAB","space":{"id":"harbor.eth"},"author":null,"type":"basic",` +
			`"title":"Budget"}`,
	},
	{
		name: TallyProposal, kind: record.KindProposal, read: readTallyProposal,
		matches: func(in object) bool {
			return in.has("organization") && in.hasAny("onchainId", "metadata")
		},
		fields: "id, onchainId, organization, metadata",
		doc: formatDoc{
			"Tally proposals", "`organization` and `onchainId` or `metadata`",
			"proposal", "`id`, `organization.slug`",
		},
		example: `{"id":"1","onchainId":"1","organization":{"slug":"harbor"},` +
			`"status":"active","metadata":{"title":"Budget"}}`,
	},
	{
		name: DiscourseTopic, kind: record.KindTopic, read: readDiscourseTopic, needsHost: true,
		matches: func(in object) bool { return in.hasAny("category_id", "posts_count") },
		fields:  "id, title, category_id, posts_count",
		doc:     formatDoc{"Discourse topics", "`category_id` or `posts_count`", "topic", "`id`"},
		example: `{"id":7,"title":"Budget","slug":"budget","category_id":1,` +
			`"posts_count":1}`,
	},
	{
		name: "DAO", kind: record.KindDAO, read: readDAO,
		matches: func(in object) bool { return in.has("daoId") && in.has("sources") },
		fields:  "daoId, name, sources",
		doc: formatDoc{
			"DAOs", "`daoId`, `sources`",
			"DAO", "`daoId`, each source's `provider` and `id`",
		},
		example: `{"daoId":"harbor","name":"Harbor DAO","sources":[]}`,
	},
	{
		name: SnapshotSpace, kind: record.KindSource, read: readSnapshotSpace,
		matches: func(in object) bool {
			return in.has("name") && !in.has("slug") && in.hasAny("network", "symbol")
		},
		fields: "id, name, network, symbol",
		doc: formatDoc{
			"Snapshot spaces", "`name` and `network` or `symbol`, without `slug`",
			"source", "`id`",
		},
		example: `{"id":"harbor.eth","name":null,"network":null,"symbol":"HRB"}`,
	},
	{
		name: TallyOrganization, kind: record.KindSource, read: readTallyOrganization,
		matches: func(in object) bool { return hasSlugAndID(in, typeString) },
		fields:  "id, name, slug",
		doc: formatDoc{
			"Tally organizations", "`id` (a string), `name`, `slug`",
			"source", "`slug`, which is the source's id",
		},
		example: `{"id":"7","name":"Harbor","slug":"harbor"}`,
	},
	{
		name: DiscourseCategory, kind: record.KindCategory, read: readDiscourseCategory, needsHost: true,
		matches: func(in object) bool { return hasSlugAndID(in, typeNumber) },
		fields:  "id, name, slug",
		doc: formatDoc{
			"Discourse categories", "`id` (a number), `name`, `slug`",
			"category", "`id`",
		},
		example: `{"id":7,"name":"Proposals","slug":"proposals"}`,
	},
}

// hasSlugAndID reports whether an object has a name, a slug and an id of the given
// type, which distinguishes two formats with the same fields.
func hasSlugAndID(in object, id jsonType) bool {
	return in.has("name") && in.has("slug") && typeOf(in.get("id").json) == id
}

func formatsInImportOrder() []format {
	sorted := slices.Clone(formatTable)
	slices.SortStableFunc(sorted, func(a, b format) int {
		return importRank(a.kind) - importRank(b.kind)
	})
	return sorted
}

// importRank returns the position of a kind in the import order. Canonical lines,
// which have no kind, come last.
func importRank(kind record.Kind) int {
	if kind == "" {
		return len(record.Kinds())
	}
	return slices.Index(record.Kinds(), kind)
}

// lookup returns the format with a name, or nil.
func (name Format) lookup() *format {
	i := slices.IndexFunc(formatTable, func(f format) bool { return f.name == name })
	if i < 0 {
		return nil
	}
	return &formatTable[i]
}

// formatOf returns the format that an object matches, or nil. An object with a voter
// is a ballot whatever other fields it has, unless it is canonical.
func formatOf(in object) *format {
	hasVoter := in.has("voter")
	for i := range formatTable {
		f := &formatTable[i]
		isBallot := f.kind == record.KindBallot
		if (f.kind == "" || isBallot == hasVoter) && f.matches(in) {
			return f
		}
	}
	return nil
}

// parse returns the record of a line. If there is a reason why the line has none, it returns what
// could be read, or nil.
func (f *format) parse(l *line, text []byte) (parsed record.Record, reason string) {
	in, ok := l.open(text)
	if !ok {
		if err := checkJSON(text); err != nil {
			return nil, err.Error()
		}
		return nil, fmt.Sprintf("is %s; want an object", typeOf(text))
	}
	found := formatOf(in)
	if found != f && found != nil {
		return found.read(in), fmt.Sprintf("is a %s in a file of another format; want a %s", found.name, f.name)
	}
	parsed = f.read(in)
	if l.reason == "" && found == nil {
		l.reason = fmt.Sprintf("has fields %s; want the fields of a %s: %s", fieldNames(in), f.name, f.fields)
	}
	return parsed, l.reason
}

// fieldNames lists the first fields of an object, for error messages.
func fieldNames(in object) string {
	const maxNames, maxNameBytes = 12, 40
	var names []string
	for _, field := range in.members[:min(len(in.members), maxNames)] {
		names = append(names, record.Clip(string(field.name), maxNameBytes))
	}
	if len(in.members) > maxNames {
		names = append(names, "…")
	}
	if len(names) == 0 {
		return "(none)"
	}
	return strings.Join(names, ", ")
}
