package docs_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// maxDecisionWords is how long a decision may be: a page that is read to its end.
const maxDecisionWords = 300

// Every decision is a short page, and the list has it with its title.
func TestDecisionsAreListedAndShort(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(root, "docs", "adr")
	list, err := os.ReadFile(filepath.Join(folder, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	pages, err := filepath.Glob(filepath.Join(folder, "0*.md"))
	if err != nil || len(pages) == 0 {
		t.Fatalf("got %d decisions, %v, want some", len(pages), err)
	}
	for i, path := range pages {
		name := filepath.Base(path)
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		title, _, _ := strings.Cut(string(text), "\n")
		title, numbered := strings.CutPrefix(title, fmt.Sprintf("# %d. ", i+1))
		if !numbered || !strings.HasPrefix(name, fmt.Sprintf("%04d-", i+1)) {
			t.Errorf("%s: want it to be decision %d, by its name and title", name, i+1)
		}
		if entry := fmt.Sprintf("%d. [%s](%s)\n", i+1, title, name); !strings.Contains(string(list), entry) {
			t.Errorf("README.md of the decisions lacks the line %q", entry)
		}
		if words := len(strings.Fields(string(text))); words > maxDecisionWords {
			t.Errorf("%s: got %d words, want at most %d", name, words, maxDecisionWords)
		}
	}
}
