package e2e_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"pnyx/test/env"
)

func TestMakeRemovesDataOnlyAfterAYes(t *testing.T) {
	t.Parallel()
	makefile, err := filepath.Abs("../../Makefile")
	if _, missing := os.Stat(makefile); err != nil || missing != nil { // Stat makes go test run it again after a change
		t.Fatal(err)
	}
	for _, test := range []struct {
		name, target, answer string
		builds, data         bool // what is left
	}{
		{"clean", "clean", "", false, true},
		{"clean-data without an answer", "clean-data", "", true, true},
		{"clean-data, no", "clean-data", "n\n", true, true},
		{"clean-data, yes", "clean-data", "y\n", true, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			for _, folder := range []string{"bin", "data"} {
				env.MustDo(t, os.Mkdir(filepath.Join(dir, folder), 0o700))
			}
			command := exec.CommandContext(t.Context(), "make", "-f", makefile, test.target, "PNYX_DATA=")
			command.Dir, command.Stdin = dir, strings.NewReader(test.answer)
			out, err := command.CombinedOutput()
			if asked := test.target == "clean-data"; strings.Contains(string(out), "[y/N]") != asked {
				t.Errorf("got %q, %v, asked: want %v", out, err, asked)
			}
			for folder, want := range map[string]bool{"bin": test.builds, "data": test.data} {
				if _, err := os.Stat(filepath.Join(dir, folder)); (err == nil) != want {
					t.Errorf("%s after the command: got %v, want that it exists: %v", folder, err, want)
				}
			}
		})
	}
}
