package engine_test

import (
	"os/exec"
	"strings"
	"testing"
)

func TestStaticProgramCannotLoadLibraries(t *testing.T) {
	t.Parallel()
	for tags, loads := range map[string]bool{"": true, "static": false} {
		list := exec.CommandContext(t.Context(), "go", "list", "-deps", "-tags", tags, "pnyx")
		out, err := list.Output()
		if err != nil {
			t.Fatalf("%s: %v", list, err)
		}
		if got := strings.Contains(string(out), "github.com/ebitengine/purego"); got != loads {
			t.Errorf("tags %q: got purego linked %t, want %t", tags, got, loads)
		}
	}
}
