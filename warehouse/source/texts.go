package source

import "strings"

// textChunk is how many bytes of texts a file of ballots allocates at once.
const textChunk = 32 << 10

// texts makes strings, many of them in one allocation, which lives as long as any: for records that are dropped
// together, as the ballots of a batch. The zero texts allocates each string alone.
type texts struct {
	chunk strings.Builder
	// size is the size of a chunk in bytes.
	size int
	// last is the latest string that again returned.
	last string
}

// of returns a string with the content of text.
func (t *texts) of(text []byte) string {
	if len(text) > t.size/16 {
		return string(text)
	}
	if t.chunk.Cap()-t.chunk.Len() < len(text) {
		t.chunk.Reset()
		t.chunk.Grow(t.size)
	}
	start := t.chunk.Len()
	t.chunk.Write(text)
	return t.chunk.String()[start:]
}

// again is of for a text that is often the same as before.
func (t *texts) again(text []byte) string {
	if t.last != string(text) {
		t.last = t.of(text)
	}
	return t.last
}
