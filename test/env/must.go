package env

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Must returns a value that comes without an error, and ends the test otherwise.
func Must[T any](value T, err error) func(testing.TB) T {
	return func(tb testing.TB) T {
		tb.Helper()
		MustDo(tb, err)
		return value
	}
}

// MustDo ends the test where something failed.
func MustDo(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

// WantSame compares two values, and names what they are where they differ.
func WantSame(tb testing.TB, what string, want, got any, options ...cmp.Option) {
	tb.Helper()
	if diff := cmp.Diff(want, got, options...); diff != "" {
		tb.Errorf("%s (-want +got):\n%s", what, diff)
	}
}
