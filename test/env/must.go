package env

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"pnyx/test/check"
)

// Must returns a value that comes without an error, and ends the test otherwise.
func Must[T any](value T, err error) func(testing.TB) T { return check.Must(value, err) }

// MustDo ends the test where something failed.
func MustDo(tb testing.TB, err error) { tb.Helper(); check.MustDo(tb, err) }

// Want compares two values, and names what they are where they differ.
func Want[T comparable](tb testing.TB, want, got T, what ...any) {
	tb.Helper()
	check.Want(tb, want, got, what...)
}

// WantError is Want for an error, which may be wrapped; nil is none.
func WantError(tb testing.TB, want, got error, what ...any) {
	tb.Helper()
	check.WantError(tb, want, got, what...)
}

// WantPart is Want for a text that has to contain another.
func WantPart(tb testing.TB, part, got string, what ...any) {
	tb.Helper()
	check.WantPart(tb, part, got, what...)
}

// WantSame is Want for values of any type.
func WantSame(tb testing.TB, what string, want, got any, options ...cmp.Option) {
	tb.Helper()
	check.WantSame(tb, what, want, got, options...)
}
