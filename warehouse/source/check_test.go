package source_test

import (
	"errors"
	"io"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/shopspring/decimal"

	"pnyx/governance"
	"pnyx/warehouse/record"
	"pnyx/warehouse/source"
)

// refusal is a line and why it is refused.
type refusal struct {
	name   string
	line   string
	reason string
}

// checkRefusals checks that each line is refused for its reason.
func checkRefusals(t *testing.T, format source.Format, refusals []refusal) {
	t.Helper()
	for _, test := range refusals {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got, reason := source.ParseLine(source.File{Format: format, Host: forum}, test.line)
			if reason != test.reason {
				t.Errorf("reason: got %q, want %q", reason, test.reason)
			}
			if got != nil {
				t.Errorf("record: got %+v, want none", got)
			}
		})
	}
}

// reading is a line and the record that it is.
type reading struct {
	name string
	line string
	want record.Record
}

// checkReadings checks that each line becomes its record.
func checkReadings(t *testing.T, format source.Format, readings []reading) {
	t.Helper()
	for _, test := range readings {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got, reason := source.ParseLine(source.File{Format: format, Host: forum}, test.line)
			if reason != "" {
				t.Fatalf("reason: got %q, want none", reason)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("record (-want +got):\n%s", diff)
			}
			if got.Kind() != format.Kind() && format != source.Canonical {
				t.Errorf("kind: got %q, want that of the format, %q", got.Kind(), format.Kind())
			}
		})
	}
}

// checkBallot checks what is true of every ballot, however odd its line was.
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

// readAll reads a file to its end. The error joins all refusals and what ended
// the file, if it was not its end.
func readAll(tb testing.TB, file source.File, limits source.Limits) ([]record.Record, error) {
	tb.Helper()
	reader, err := source.Open(file, limits)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err := reader.Close(); err != nil {
			tb.Errorf("closing %s: %v", file.Path, err)
		}
	}()

	var records []record.Record
	var refusals error
	for {
		read, err := reader.Next()
		var rejected *source.RejectedError
		switch {
		case errors.Is(err, io.EOF):
			return records, refusals
		case errors.As(err, &rejected):
			refusals = errors.Join(refusals, rejected)
		case err != nil:
			return records, errors.Join(refusals, err)
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
