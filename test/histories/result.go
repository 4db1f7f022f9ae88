package histories

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// Result is what is kept of one history: a line of results.ndjson.
type Result struct {
	// Date is the day of the history, and Build the version of the program.
	Date  string `json:"date"`
	Build string `json:"build"`
	// Seed made the history, of a deployment of the kind.
	Seed uint64 `json:"seed"`
	Kind string `json:"kind"`
	// Seconds is how long it lasted, and Operations how much was recorded.
	Seconds    int `json:"seconds"`
	Operations int `json:"operations"`
	// Faults counts what broke, by name. Alone is how often a node counted by itself without one.
	Faults map[string]int `json:"faults"`
	Alone  int            `json:"alone,omitempty"`
	// Violations are what models rule out, or why a history did not end.
	Violations []string `json:"violations,omitempty"`
	// Became says what became of the violations. People write it.
	Became string `json:"became,omitempty"`
}

// CountsByItself names a fault that was not caused: Redis answered a node too late.
const CountsByItself = "a node counts by itself for a moment, because the machine is busy"

// ResultOf returns the result of a history.
func ResultOf(h History, violations []Violation) Result {
	r := Result{Operations: len(h), Faults: map[string]int{}}
	last := time.Duration(0)
	for i := range h {
		last = max(last, h[i].Return)
		switch {
		case h[i].Kind != Fault:
		case h[i].Subject == CountsByItself:
			r.Alone++
		default:
			r.Faults[h[i].Subject]++
		}
	}
	r.Seconds = int(last.Seconds())
	for _, violation := range violations {
		r.Violations = append(r.Violations, violation.String())
	}
	return r
}

// Append adds a result to a file, dated today.
func (r Result) Append(path string) (err error) {
	r.Date = time.Now().UTC().Format(time.DateOnly)
	line, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("append a result: %w", err)
	}
	file, err := os.OpenFile(filepath.Clean(path), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("append a result: %w", err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	_, err = file.Write(append(line, '\n'))
	return err
}

// ReadResults returns the results of a file.
func ReadResults(path string) ([]Result, error) { return readLines[Result](path) }
