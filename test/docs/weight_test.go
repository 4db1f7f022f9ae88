package docs_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"pnyx/test/env"
)

func TestWeightRefusesWhatExceedsItsBudget(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat(filepath.Join(root, ".git")); err != nil {
		t.Skipf("weights are of files that git knows: %v", err)
	}
	// Whatever is not about documents is without bounds.
	const others = "shipped 9999999\ntests 9999999\nmachinery 9999999\nwords 9999999\ndecisions 9999999\nfolder 9999999\nmethods 9999999\n"
	for name, test := range map[string]struct{ budget, want string }{
		"within the goal":           {"documents 1000", ""},
		"above the goal":            {"documents 2", "more than 5 % above 2"},
		"allowed for now":           {"documents 2 1000", "lower what is allowed, 1000"},
		"raised by what has landed": {"documents 2\n+ documents 1000 landed guides", ""},
		"not by what is planned":    {"documents 2\n+ documents 1000 planned guides", "more than 5 % above 2"},
		"a measure that is gone":    {"documents 1000\nfolder:gone 1 2", "folder:gone is gone"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			budget := filepath.Join(t.TempDir(), "budget.txt")
			env.MustDo(t, os.WriteFile(budget, []byte(others+test.budget+"\n"), 0o600))
			out, err := exec.CommandContext(t.Context(), root+"/test/weight/weight.sh", budget).CombinedOutput()
			if (err != nil) != (test.want != "") || !strings.Contains(string(out), test.want) {
				t.Errorf("got %v and\n%s\nwant %q", err, out, test.want)
			}
		})
	}
}
