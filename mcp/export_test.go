package mcp

// AppendString writes a text as JSON.
func AppendString(text string) []byte { return appendString(nil, text) }

// AppendWindow writes a part of a text, which is JSON.
func AppendWindow(text []byte, offset, limit, room int) []byte {
	return window{text: text, offset: offset, limit: limit}.append(nil, room)
}

// ConciseEvidence exports conciseEvidence.
func ConciseEvidence(evidence []byte) []byte { return conciseEvidence(evidence) }
