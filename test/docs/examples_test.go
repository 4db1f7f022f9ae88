package docs_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pnyx/test/env"
)

func TestPartnersSeeTheProgramAsItIs(t *testing.T) {
	t.Parallel()
	page := env.Must(os.ReadFile(filepath.Join(root, "docs/partners.md")))(t)
	text := env.Must(os.ReadFile(filepath.Join(root, "docs/examples/ballots.py")))(t)
	if want := "```python\n" + string(text) + "```\n"; !strings.Contains(string(page), want) {
		t.Errorf("docs/partners.md does not show docs/examples/ballots.py as it is:\n%s", want)
	}
}
