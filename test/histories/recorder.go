package histories

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"pnyx/test/check"
)

// Recorder records a history. Any goroutine may use it.
type Recorder struct {
	began time.Time
	mu    check.Mutex
	done  History
}

// NewRecorder returns the recorder of a history that begins now.
func NewRecorder() *Recorder { return &Recorder{began: time.Now()} }

// Now is the time since the history began.
func (r *Recorder) Now() time.Duration { return time.Since(r.began) }

// At is the time of a moment.
func (r *Recorder) At(moment time.Time) time.Duration { return moment.Sub(r.began) }

// Begin notes the call of an operation. The function that it returns notes its return.
func (r *Recorder) Begin(o Operation) (end func(outcome func(*Operation))) {
	o.Call = r.Now()
	return func(outcome func(*Operation)) {
		outcome(&o)
		o.Return = r.Now()
		r.Add(o)
	}
}

// Add records an operation with the times that it has.
func (r *Recorder) Add(o Operation) { r.mu.Do(func() { r.done = append(r.done, o) }) }

// History returns what was recorded so far.
func (r *Recorder) History() History {
	return check.Locked(&r.mu, func() History { return slices.Clone(r.done) })
}

// Take returns the operations for which take is true, and forgets them.
func (r *Recorder) Take(take func(*Operation) bool) (taken History) {
	r.mu.Lock()
	defer r.mu.Unlock()
	kept := make(History, 0, len(r.done))
	for i := range r.done {
		if take(&r.done[i]) {
			taken = append(taken, r.done[i])
		} else {
			kept = append(kept, r.done[i])
		}
	}
	r.done = kept
	return taken
}

// Write writes a history to a file, an operation a line.
func (h History) Write(path string) error {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	for i := range h {
		if err := encoder.Encode(h[i]); err != nil {
			return fmt.Errorf("write a history: %w", err)
		}
	}
	return os.WriteFile(filepath.Clean(path), text.Bytes(), 0o600)
}

// Read reads a history that was written.
func Read(path string) (History, error) { return readLines[Operation](path) }

// readLines reads a file of JSON values, one a line.
func readLines[T any](path string) (values []T, err error) {
	file, err := os.Open(filepath.Clean(path))
	if err != nil {
		return nil, fmt.Errorf("read lines: %w", err)
	}
	defer file.Close()
	for decoder := json.NewDecoder(file); ; {
		var value T
		if err := decoder.Decode(&value); errors.Is(err, io.EOF) {
			return values, nil
		} else if err != nil {
			return nil, fmt.Errorf("%s: line %d: %w", path, len(values)+1, err)
		}
		values = append(values, value)
	}
}
