package env

import (
	"bytes"

	"pnyx/test/check"
)

// Buffer is a log that may be read while it is written.
type Buffer struct {
	mu   check.Mutex
	text bytes.Buffer
}

// Write adds to the log.
func (b *Buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

// String is all that was logged so far.
func (b *Buffer) String() string {
	return check.Locked(&b.mu, b.text.String)
}
