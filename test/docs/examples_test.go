package docs_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestPageOfClientsShowsItsPrograms(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join(root, "docs/clients.md"))
	if err != nil {
		t.Fatal(err)
	}
	for language, path := range map[string]string{"python": "ballots.py", "ts": "ballots.ts", "go": "ballots/main.go"} {
		t.Run(language, func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(filepath.Join(root, "docs/examples", path))
			if err != nil {
				t.Fatal(err)
			}
			if want := "```" + language + "\n" + string(text) + "```\n"; !strings.Contains(string(page), want) {
				t.Errorf("docs/clients.md does not show docs/examples/%s as it is:\n%s", path, want)
			}
		})
	}
}
