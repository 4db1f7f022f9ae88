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

// SampleLine returns the example of a format.
func SampleLine(name Format) string {
	return name.lookup().example
}

// FormatTable returns the table of formats and the examples in docs/sources.md.
func FormatTable() string {
	var table, examples strings.Builder
	table.WriteString("| file of | identified by the fields | record | required |\n|---|---|---|---|\n")
	for _, f := range formatsInImportOrder() {
		if f.doc.files == "" {
			continue
		}
		cells := []string{f.doc.files, f.doc.identifiedBy, f.doc.record, f.doc.required}
		table.WriteString("| " + strings.Join(cells, " | ") + " |\n")
		examples.WriteString(f.example + "\n")
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
