// Package check ends tests, and names what differs. It imports nothing of ours, so that tests of the packages
// below may use it; package env has the same for the others.
package check

import (
	"errors"
	"fmt"
	"strings"
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

// Want compares two values, and names what they are where they differ.
func Want[T comparable](tb testing.TB, want, got T, what ...any) {
	tb.Helper()
	if got != want {
		tb.Errorf("%s: got %+v, want %+v", strings.TrimSpace(fmt.Sprintln(what...)), got, want)
	}
}

// WantError is Want for an error, which may be wrapped; nil is none.
func WantError(tb testing.TB, want, got error, what ...any) {
	tb.Helper()
	if !errors.Is(got, want) {
		tb.Errorf("%s: got %v, want %v", strings.TrimSpace(fmt.Sprintln(what...)), got, want)
	}
}

// WantPart is Want for a text that has to contain another.
func WantPart(tb testing.TB, part, got string, what ...any) {
	tb.Helper()
	if !strings.Contains(got, part) {
		tb.Errorf("%s: got %s, want %q in it", strings.TrimSpace(fmt.Sprintln(what...)), got, part)
	}
}

// WantSame is Want for values of any type.
func WantSame(tb testing.TB, what string, want, got any, options ...cmp.Option) {
	tb.Helper()
	if diff := cmp.Diff(want, got, options...); diff != "" {
		tb.Errorf("%s (-want +got):\n%s", what, diff)
	}
}
