package docs_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"pnyx/test/env"
)

// maxDecisionWords is how long a decision may be: a page that is read to its end.
const maxDecisionWords = 120

// Every decision is a short page of the same sections, in the list with its title. Numbers are not used again.
func TestDecisionsAreListedAndShort(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(root, "docs", "adr")
	list := env.Must(os.ReadFile(filepath.Join(folder, "README.md")))(t)
	pages, err := filepath.Glob(filepath.Join(folder, "0*.md"))
	if err != nil || len(pages) == 0 {
		t.Fatalf("got %d decisions, %v, want some", len(pages), err)
	}
	for _, path := range pages {
		name := filepath.Base(path)
		number, err := strconv.Atoi(name[:4])
		if err != nil {
			t.Errorf("%s: want a name that begins with the decision's number", name)
			continue
		}
		text := env.Must(os.ReadFile(path))(t)
		title, _, _ := strings.Cut(string(text), "\n")
		title, numbered := strings.CutPrefix(title, fmt.Sprintf("# %d. ", number))
		if !numbered {
			t.Errorf("%s: want a title with the number %d", name, number)
		}
		if entry := fmt.Sprintf("%d. [%s](%s)\n", number, title, name); !strings.Contains(string(list), entry) {
			t.Errorf("README.md of the decisions lacks the line %q", entry)
		}
		for _, section := range []string{"Context", "Decision", "Alternatives considered"} {
			if !strings.Contains(string(text), "\n## "+section+"\n") {
				t.Errorf("%s: want a section %q", name, section)
			}
		}
		if words := len(strings.Fields(string(text))); words > maxDecisionWords {
			t.Errorf("%s: got %d words, want at most %d", name, words, maxDecisionWords)
		}
	}
}
