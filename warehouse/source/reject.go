package source

import (
	"fmt"

	"pnyx/warehouse/record"
)

const (
	// maxRejectedText is the maximum length of RejectedError.Text in bytes.
	maxRejectedText = 4 << 10
	// maxShownValue is the maximum length of a value in a reason, in bytes.
	maxShownValue = 80
)

// RejectedError reports a line that is not a valid record. The Reader continues with the next line. Its JSON is a
// line of the importer's file of rejected lines.
type RejectedError struct {
	File string `json:"file"`
	Line int    `json:"line"` // from 1
	// Reason says which field is invalid, and what is valid.
	Reason string `json:"reason"`
	// Record is what of the record could be read; nil for nothing. A ballot without an id of its
	// proposal may be on any.
	Record record.Record `json:"-"`
	// Text is the line, truncated to 4 KiB, with U+FFFD in place of invalid UTF-8.
	Text string `json:"text"`
}

// Error returns file, line and reason.
func (e *RejectedError) Error() string {
	if e.File == "" {
		return e.Reason
	}
	return fmt.Sprintf("%s: line %d: %s", e.File, e.Line, e.Reason)
}
