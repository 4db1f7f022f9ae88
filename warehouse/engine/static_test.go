package engine_test

import (
	"os/exec"
	"strings"
	"testing"

	"pnyx/test/env"
)

func TestStaticProgramCannotLoadLibraries(t *testing.T) {
	t.Parallel()
	env.SkipShort(t, "go list")
	for tags, loads := range map[string]bool{"": true, "static": false} {
		t.Run("tags "+tags, func(t *testing.T) {
			t.Parallel()
			list := exec.CommandContext(t.Context(), "go", "list", "-deps", "-tags", tags, "pnyx")
			out, err := list.Output()
			if err != nil {
				t.Fatalf("%s: %v", list, err)
			}
			if got := strings.Contains(string(out), "github.com/ebitengine/purego"); got != loads {
				t.Errorf("got purego linked %t, want %t", got, loads)
			}
		})
	}
}
