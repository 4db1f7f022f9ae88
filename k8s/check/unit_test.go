package check

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// systemd says so itself, of a copy that starts a program which is there.
func TestTheUnitOfSystemdIsValidAndHardened(t *testing.T) {
	if _, err := exec.LookPath("systemd-analyze"); err != nil {
		t.Skip("no systemd-analyze: the unit of systemd is not checked")
	}
	text := must(os.ReadFile("../../systemd/pnyx.service"))(t)
	unit := filepath.Join(t.TempDir(), "pnyx.service")
	if err := os.WriteFile(unit, []byte(strings.ReplaceAll(string(text), "/usr/local/bin/pnyx", "/bin/true")), 0o600); err != nil {
		t.Fatal(err)
	}
	// The second exits with 1 for an exposure above 2 of 10.
	for _, args := range [][]string{{"verify", "--man=no", unit}, {"security", "--offline=true", "--no-pager", "--threshold=20", unit}} {
		out, err := exec.CommandContext(t.Context(), "systemd-analyze", args...).CombinedOutput()
		if err != nil || args[0] == "verify" && len(out) > 0 {
			t.Errorf("systemd-analyze %s: %v\n%s", args[0], err, out)
		}
	}
}
