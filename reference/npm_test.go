package reference_test

import (
	"context"
	"os"
	"os/exec"
	"testing"
	"time"
)

// npmTimeout bounds the run of the linter.
const npmTimeout = 3 * time.Minute

// TestDocumentPassesTheLinter lints the published document with the packages that
// `make npm` installs.
func TestDocumentPassesTheLinter(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("npm/node_modules/.package-lock.json"); err != nil {
		t.Skip("no node_modules: make npm")
	}
	if _, err := exec.LookPath("npm"); err != nil {
		t.Skip("no npm")
	}
	ctx, cancel := context.WithTimeout(t.Context(), npmTimeout)
	defer cancel()
	command := exec.CommandContext(ctx, "npm", "run", "--silent", "lint")
	command.Dir = "npm"
	if text, err := command.CombinedOutput(); err != nil {
		t.Errorf("npm run lint: %v\n%s", err, text)
	}
}
