package source

import "pnyx/warehouse/record"

// ParseLine reads one line as a Reader of the file does, and returns the reason of
// its refusal.
func ParseLine(file File, text string) (record.Record, string) {
	var l line
	return file.parse(&l, skipSpace([]byte(text)))
}

// FieldsOf returns the values of a JSON object's fields by name, as they are cut
// out of the text. The text has to be a JSON object.
func FieldsOf(text string) map[string]string {
	var l line
	in := l.open([]byte(text))
	fields := map[string]string{}
	for field := range in.fields() {
		fields[field.name] = string(in.get(field.name).json)
	}
	return fields
}
