package mcp

// Elements and Members read valid JSON, and AppendString writes a text as JSON.
func Elements(array []byte) [][]byte { return elements(array) }

// Members returns the members of an object.
func Members(object []byte) (keys []string, values [][]byte) {
	for key, value := range members(object) {
		keys, values = append(keys, key), append(values, value)
	}
	return keys, values
}

// AppendString writes a text as JSON.
func AppendString(text string) []byte { return appendString(nil, text) }

// AppendWindow writes a part of a text, which is JSON.
func AppendWindow(text []byte, offset, limit, room int) []byte {
	return window{text: text, offset: offset, limit: limit}.append(nil, room)
}

// ConciseEvidence exports conciseEvidence.
func ConciseEvidence(evidence []byte) []byte { return conciseEvidence(evidence) }
