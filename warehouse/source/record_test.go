package source_test

import (
	"errors"
	"io"
	"testing"

	"github.com/shopspring/decimal"

	"pnyx/governance"
	"pnyx/test/check"
	"pnyx/warehouse/record"
	"pnyx/warehouse/source"
)

// rejectionTest is a line and the reason for its rejection.
type rejectionTest struct {
	name   string
	line   string
	reason string
}

// checkRejections checks that each line is rejected with its reason.
func checkRejections(t *testing.T, format source.Format, tests []rejectionTest) {
	t.Helper()
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got, reason := source.ParseLine(source.File{Format: format, Host: forum}, test.line)
			check.Want(t, test.reason, reason, "reason")
			if got != nil {
				t.Errorf("record: got %+v, want none", got)
			}
		})
	}
}

// recordTest is a line and the record that it becomes.
type recordTest struct {
	name string
	line string
	want record.Record
}

// checkRecords checks that each line becomes its record.
func checkRecords(t *testing.T, format source.Format, tests []recordTest) {
	t.Helper()
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got, reason := source.ParseLine(source.File{Format: format, Host: forum}, test.line)
			if reason != "" {
				t.Fatalf("reason: got %q, want none", reason)
			}
			check.WantSame(t, "record", test.want, got)
			if got.Kind() != format.Kind() && format.Kind() != "" {
				t.Errorf("kind: got %q, want that of the format, %q", got.Kind(), format.Kind())
			}
		})
	}
}

// checkBallot checks the invariants of every ballot.
func checkBallot(t *testing.T, ballot *record.Ballot) {
	t.Helper()
	if ballot.Power.IsNegative() {
		t.Errorf("power of %s: got %s, want none below zero", ballot.VoteID, ballot.Power)
	}
	if len(ballot.Choices) == 0 != (ballot.ChoiceKey == "") {
		t.Errorf("choice key of %s: got %q for choices %q", ballot.VoteID, ballot.ChoiceKey, ballot.Choices)
	}
	if ballot.Shares == nil {
		return
	}
	if sum := decimal.Sum(decimal.Zero, ballot.Shares...); !sum.Equal(ballot.Power) {
		t.Errorf("sum of the shares of %s: got %s, want its power %s", ballot.VoteID, sum, ballot.Power)
	}
	if len(ballot.Shares) != len(ballot.Choices) || len(ballot.Roots) != len(ballot.Choices) {
		t.Errorf("shares of %s: got %d and %d roots, want one for each of %d choices",
			ballot.VoteID, len(ballot.Shares), len(ballot.Roots), len(ballot.Choices))
	}
}

// readAll reads a file to its end. The error joins all rejections and the error that
// ended the file early.
func readAll(tb testing.TB, file source.File, maxLine int) ([]record.Record, error) {
	tb.Helper()
	reader, err := source.Open(file, maxLine)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err := reader.Close(); err != nil {
			tb.Errorf("closing %s: %v", file.Path, err)
		}
	}()

	var records []record.Record
	var rejections error
	for {
		read, err := reader.Next()
		var rejected *source.RejectedError
		switch {
		case errors.Is(err, io.EOF):
			return records, rejections
		case errors.As(err, &rejected):
			rejections = errors.Join(rejections, rejected)
		case err != nil:
			return records, errors.Join(rejections, err)
		default:
			records = append(records, read)
		}
	}
}

// moment returns the time that an RFC 3339 text states.
func moment(text string) *governance.Timestamp {
	at, err := governance.ParseTimestamp(text)
	if err != nil {
		panic(err)
	}
	return &at
}

// number returns the number that a text states.
func number(text string) *decimal.Decimal {
	n := decimal.RequireFromString(text)
	return &n
}
