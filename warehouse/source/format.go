package source

import (
	"fmt"
	"slices"
	"strings"

	"pnyx/warehouse/record"
)

// Format is the name of a shape of lines: "Snapshot vote"; empty for a file without records.
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

// format describes one shape of lines. Adding a format takes one entry in formatTable, one read function, and a
// row of docs/sources.md, which export_test.go makes.
type format struct {
	name Format
	kind record.Kind // empty for canonical lines, which are of several kinds
	// needsHost is true if lines do not state their forum: the folder of the file is named after its host.
	needsHost bool
	// matches reports whether an object has the fields that identify the format, whatever their values.
	matches func(object) bool
	// read returns the record of a line. It is valid if the line has no reason for rejection.
	read func(object) record.Record
	// fields lists typical fields, for error messages.
	fields string
}

// formatTable lists every format. Of several that match a line the first one applies.
var formatTable = []format{ //nolint:gochecknoglobals // a constant table, read for every line
	{
		name: "canonical record", read: readCanonical, fields: "record, version",
		matches: func(in object) bool { return in.has("record") },
	},
	{
		name: SnapshotVote, kind: record.KindBallot, read: readSnapshotVote,
		matches: func(in object) bool { return in.hasAny("vp", "choice") },
		fields:  "id, proposal, voter, choice, vp",
	},
	{
		name: TallyVote, kind: record.KindBallot, read: readTallyVote,
		matches: func(in object) bool { return in.hasAny("amount", "type") },
		fields:  "id, proposal, voter, type, amount",
	},
	{
		name: SnapshotProposal, kind: record.KindProposal, read: readSnapshotProposal,
		matches: func(in object) bool { return in.has("space") && !in.has("proposal") },
		fields:  "id, space, author, choices",
	},
	{
		name: TallyProposal, kind: record.KindProposal, read: readTallyProposal,
		matches: func(in object) bool {
			return in.has("organization") && in.hasAny("onchainId", "metadata")
		},
		fields: "id, onchainId, organization, metadata",
	},
	{
		name: DiscourseTopic, kind: record.KindTopic, read: readDiscourseTopic, needsHost: true,
		matches: func(in object) bool { return in.hasAny("category_id", "posts_count") },
		fields:  "id, title, category_id, posts_count",
	},
	{
		name: "DAO", kind: record.KindDAO, read: readDAO,
		matches: func(in object) bool { return in.has("daoId") && in.has("sources") },
		fields:  "daoId, name, sources",
	},
	{
		name: SnapshotSpace, kind: record.KindSource, read: readSnapshotSpace,
		matches: func(in object) bool {
			return in.has("name") && !in.has("slug") && in.hasAny("network", "symbol")
		},
		fields: "id, name, network, symbol",
	},
	{
		name: TallyOrganization, kind: record.KindSource, read: readTallyOrganization,
		matches: func(in object) bool { return hasSlugAndID(in, typeString) },
		fields:  "id, name, slug",
	},
	{
		name: DiscourseCategory, kind: record.KindCategory, read: readDiscourseCategory, needsHost: true,
		matches: func(in object) bool { return hasSlugAndID(in, typeNumber) },
		fields:  "id, name, slug",
	},
}

// hasSlugAndID tells two formats with the same fields apart by the type of the id.
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

// importRank returns the place of a kind in the import order. Canonical lines, without one, come last.
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
