package docs_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestPartnersSeeTheProgramAsItIs(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join(root, "docs/partners.md"))
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(root, "docs/examples/ballots.py"))
	if err != nil {
		t.Fatal(err)
	}
	if want := "```python\n" + string(text) + "```\n"; !strings.Contains(string(page), want) {
		t.Errorf("docs/partners.md does not show docs/examples/ballots.py as it is:\n%s", want)
	}
}
