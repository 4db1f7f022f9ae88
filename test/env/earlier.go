package env

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// EarlierProgram builds the version of PNYX_TEST_UPGRADE_FROM, unless that is a program, or skips the test.
func EarlierProgram(tb testing.TB) string {
	tb.Helper()
	ref := os.Getenv("PNYX_TEST_UPGRADE_FROM")
	if filepath.IsAbs(ref) {
		return ref
	}
	dir := tb.TempDir()
	path := filepath.Join(dir, "pnyx")
	for _, step := range []struct{ what, command string }{
		{"find", `git -C "$ROOT" rev-parse -q --verify "$REF^{commit}"`},
		{"read", `mkdir src && git -C "$ROOT" archive "$REF" | tar -x -C src`},
		{"build", `cd src && CGO_ENABLED=0 go build -trimpath -o ../pnyx .`},
	} {
		command := exec.CommandContext(tb.Context(), "sh", "-c", step.command) //nolint:gosec // one of the three above
		command.Dir = dir
		command.Env = append(os.Environ(), "ROOT="+Root(tb), "REF="+ref)
		out, err := command.CombinedOutput()
		if err != nil && step.what == "find" {
			tb.Skipf("the history of this clone has no version %q: PNYX_TEST_UPGRADE_FROM names the earlier one", ref)
		}
		if err != nil {
			tb.Fatalf("%s version %s: %v\n%s", step.what, ref, err, out)
		}
	}
	return path
}
