package source

import (
	"strings"

	"pnyx/warehouse/record"
)

// ParseLine parses one line as a Reader of the file does. It returns the reason if the
// line is rejected.
func ParseLine(file File, text string) (record.Record, string) {
	l := line{host: file.Host}
	read, reason := file.Format.lookup().parse(&l, []byte(text[skipSpace([]byte(text), 0):]))
	if reason != "" {
		return nil, reason
	}
	return read, ""
}

// Kind returns the kind of the records of a format.
func (name Format) Kind() record.Kind {
	return name.lookup().kind
}

// documented has a short valid line of each format, and its row of docs/sources.md, of which canonical lines have none:
// what a file has, the fields that identify the format, the record, and the fields that must have a value.
var documented = map[Format]struct {
	example string
	cells   []string
}{
	"canonical record": {
		`{"record":"event","version":1,"eventId":"e","eventType":"dao_announcement","eventTimeMs":"2026-03-04","daoId":"harbor"}`,
		nil,
	},
	SnapshotVote: {
		`{"id":"v","proposal":{"id":"0xAB"},"space":{"id":"harbor.eth"},"voter":"0x1","created":null,"choice":1,"vp":1}`,
		[]string{"Snapshot votes", "`voter` and `vp` or `choice`", "ballot", "`id`, `proposal.id`, `voter`, `vp`, `choice`"},
	},
	TallyVote: {
		`{"id":"v","proposal":{"id":"1"},"type":"for","voter":{"address":"0x1"},"amount":"1"}`,
		[]string{"Tally votes", "`voter` and `type` or `amount`", "ballot", "`id`, `proposal.id`, `voter.address`, `type`, `amount`"},
	},
	SnapshotProposal: {
		`{"id":"0xAB","space":{"id":"harbor.eth"},"author":null,"type":"basic","title":"Budget"}`,
		[]string{"Snapshot proposals", "`space` without `voter` or `proposal`", "proposal", "`id`, `space.id`"},
	},
	TallyProposal: {
		`{"id":"1","onchainId":"1","organization":{"slug":"harbor"},"status":"active","metadata":{"title":"Budget"}}`,
		[]string{"Tally proposals", "`organization` and `onchainId` or `metadata`", "proposal", "`id`, `organization.slug`"},
	},
	DiscourseTopic: {
		`{"id":7,"title":"Budget","slug":"budget","category_id":1,"posts_count":1}`,
		[]string{"Discourse topics", "`category_id` or `posts_count`", "topic", "`id`"},
	},
	"DAO": {
		`{"daoId":"harbor","name":"Harbor DAO","sources":[]}`,
		[]string{"DAOs", "`daoId`, `sources`", "DAO", "`daoId`, each source's `provider` and `id`"},
	},
	SnapshotSpace: {
		`{"id":"harbor.eth","name":null,"network":null,"symbol":"HRB"}`,
		[]string{"Snapshot spaces", "`name` and `network` or `symbol`, without `slug`", "source", "`id`"},
	},
	TallyOrganization: {
		`{"id":"7","name":"Harbor","slug":"harbor"}`,
		[]string{"Tally organizations", "`id` (a string), `name`, `slug`", "source", "`slug`, which is the source's id"},
	},
	DiscourseCategory: {
		`{"id":7,"name":"Proposals","slug":"proposals"}`,
		[]string{"Discourse categories", "`id` (a number), `name`, `slug`", "category", "`id`"},
	},
}

// SampleLine returns the example of a format.
func SampleLine(name Format) string { return documented[name].example }

// FormatTable returns the table of formats and the examples in docs/sources.md.
func FormatTable() string {
	var table, examples strings.Builder
	table.WriteString("| file of | identified by the fields | record | required |\n|---|---|---|---|\n")
	for _, name := range Formats() {
		if of := documented[name]; of.cells != nil {
			table.WriteString("| " + strings.Join(of.cells, " | ") + " |\n")
			examples.WriteString(of.example + "\n")
		}
	}
	return table.String() + "\nOne line of each, in the same order:\n\n```jsonl\n" + examples.String() + "```\n"
}

// FieldsOf returns the values of a JSON object's fields by name, as the scanner splits
// them. ok is false for text that is no JSON object.
func FieldsOf(text string) (fields map[string]string, twice, ok bool) {
	var l line
	in, ok := l.open([]byte(text))
	fields = map[string]string{}
	for field := range in.fields() {
		fields[field.name] = string(field.json)
	}
	return fields, l.reason != "", ok
}

// Formats returns the name of every Format in import order.
func Formats() []Format {
	var names []Format
	for _, f := range formatsInImportOrder() {
		names = append(names, f.name)
	}
	return names
}
