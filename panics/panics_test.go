package panics_test

import (
	"strings"
	"testing"

	"pnyx/panics"
)

func TestAPanicOfAGroupIsItsError(t *testing.T) {
	t.Parallel()
	group, ctx := panics.WithContext(t.Context())
	group.Go(func() error { panic("a fault in a record") })
	group.Go(func() error {
		<-ctx.Done() // the others end
		return nil
	})
	if err := group.Wait(); err == nil || !strings.Contains(err.Error(), "a fault in a record") || !strings.Contains(err.Error(), "panics_test.go") {
		t.Errorf("got %v, want what the function panicked with, and where", err)
	}
}
