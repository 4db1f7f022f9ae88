package env

import (
	"testing"

	"pnyx/test/check"
)

// Must returns a value that comes without an error, and ends the test otherwise.
func Must[T any](value T, err error) func(testing.TB) T { return check.Must(value, err) }

// Want compares two values, and names what they are where they differ.
func Want[T comparable](tb testing.TB, want, got T, what ...any) {
	tb.Helper()
	check.Want(tb, want, got, what...)
}

// MustDo, WantError, WantPart and WantSame are those of package check.
var MustDo, WantError, WantPart, WantSame = check.MustDo, check.WantError, check.WantPart, check.WantSame //nolint:gochecknoglobals // they are functions
