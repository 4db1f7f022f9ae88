package mcp

// AppendString writes a text as JSON.
func AppendString(text string) []byte { return encode(text) }

// AppendWindow writes a part of a text, which is JSON.
func AppendWindow(text []byte, offset, limit, room int) []byte {
	return encode(window{text: text, offset: offset, limit: limit}.part(room))
}

// ConciseEvidence exports conciseEvidence.
func ConciseEvidence(evidence []byte) []byte { return conciseEvidence(evidence) }
