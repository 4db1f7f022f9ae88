package histories

import (
	"os/exec"
	"path/filepath"
	"testing"

	"pnyx/test/env"
)

// Every fault that a model has to find can be put into the code as it is.
func TestMutationsApply(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	patches, err := filepath.Glob(filepath.Join("mutations", "*.patch"))
	if err != nil || len(patches) == 0 {
		t.Fatalf("got %d patches, %v, want some", len(patches), err)
	}
	for _, patch := range patches {
		path := env.Must(filepath.Abs(patch))(t)
		check := exec.CommandContext(t.Context(), "git", "apply", "--check", path)
		check.Dir = env.Root(t)
		if out, err := check.CombinedOutput(); err != nil {
			t.Errorf("%s: %v: %s", patch, err, out)
		}
	}
}
