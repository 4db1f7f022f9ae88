package source

import (
	"strings"

	"pnyx/warehouse/record"
)

// ParseLine parses one line as a Reader of the file does. It returns the reason if the
// line is rejected.
func ParseLine(file File, text string) (record.Record, string) {
	l := line{host: file.Host}
	return file.Format.lookup().parse(&l, []byte(text[skipSpace([]byte(text), 0):]))
}

// Kind returns the kind of the records of a format.
func (name Format) Kind() record.Kind {
	return name.lookup().kind
}

// formatDoc documents a format for users, in Markdown; empty for canonical lines, which have a section
// of their own.
type formatDoc struct {
	// files says what a file of the format contains, and identifiedBy lists the fields that identify it.
	files, identifiedBy string
	// record is the record that a line becomes, and required lists the fields that must have a value.
	record, required string
}

// documented has a short valid line of each format, and its row of docs/sources.md.
func documented(name Format) (doc formatDoc, example string) {
	switch name {
	case "canonical record":
		return formatDoc{}, `{"record":"event","version":1,"eventId":"e","eventType":"dao_announcement","eventTimeMs":"2026-03-04","daoId":"harbor"}`
	case SnapshotVote:
		return formatDoc{"Snapshot votes", "`voter` and `vp` or `choice`", "ballot", "`id`, `proposal.id`, `voter`, `vp`, `choice`"}, `{"id":"v","proposal":{"id":"0xAB"},"space":{"id":"harbor.eth"},"voter":"0x1","created":null,"choice":1,"vp":1}`
	case TallyVote:
		return formatDoc{"Tally votes", "`voter` and `type` or `amount`", "ballot", "`id`, `proposal.id`, `voter.address`, `type`, `amount`"}, `{"id":"v","proposal":{"id":"1"},"type":"for","voter":{"address":"0x1"},"amount":"1"}`
	case SnapshotProposal:
		return formatDoc{"Snapshot proposals", "`space` without `voter` or `proposal`", "proposal", "`id`, `space.id`"}, `{"id":"0xAB","space":{"id":"harbor.eth"},"author":null,"type":"basic","title":"Budget"}`
	case TallyProposal:
		return formatDoc{"Tally proposals", "`organization` and `onchainId` or `metadata`", "proposal", "`id`, `organization.slug`"}, `{"id":"1","onchainId":"1","organization":{"slug":"harbor"},"status":"active","metadata":{"title":"Budget"}}`
	case DiscourseTopic:
		return formatDoc{"Discourse topics", "`category_id` or `posts_count`", "topic", "`id`"}, `{"id":7,"title":"Budget","slug":"budget","category_id":1,"posts_count":1}`
	case "DAO":
		return formatDoc{"DAOs", "`daoId`, `sources`", "DAO", "`daoId`, each source's `provider` and `id`"}, `{"daoId":"harbor","name":"Harbor DAO","sources":[]}`
	case SnapshotSpace:
		return formatDoc{"Snapshot spaces", "`name` and `network` or `symbol`, without `slug`", "source", "`id`"}, `{"id":"harbor.eth","name":null,"network":null,"symbol":"HRB"}`
	case TallyOrganization:
		return formatDoc{"Tally organizations", "`id` (a string), `name`, `slug`", "source", "`slug`, which is the source's id"}, `{"id":"7","name":"Harbor","slug":"harbor"}`
	case DiscourseCategory:
		return formatDoc{"Discourse categories", "`id` (a number), `name`, `slug`", "category", "`id`"}, `{"id":7,"name":"Proposals","slug":"proposals"}`
	}
	return doc, ""
}

// SampleLine returns the example of a format.
func SampleLine(name Format) string {
	_, example := documented(name)
	return example
}

// FormatTable returns the table of formats and the examples in docs/sources.md.
func FormatTable() string {
	var table, examples strings.Builder
	table.WriteString("| file of | identified by the fields | record | required |\n|---|---|---|---|\n")
	for _, f := range formatsInImportOrder() {
		doc, example := documented(f.name)
		if doc.files == "" {
			continue
		}
		cells := []string{doc.files, doc.identifiedBy, doc.record, doc.required}
		table.WriteString("| " + strings.Join(cells, " | ") + " |\n")
		examples.WriteString(example + "\n")
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
