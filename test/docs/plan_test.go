package docs_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"pnyx/test/env"
)

// measured is a row of test/results/plan.md with a figure and the page that it is from.
var measured = regexp.MustCompile(`(?m)^\| .+ \| (.+) \| \[.+\]\(((?:\.\./\.\./docs/)?[a-z]+\.md)[^)]*\) \|$`)

// What the plan is computed from is what was measured last.
func TestPlanHasTheFiguresOfOtherPages(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(root, "test/results")
	plan := env.Must(os.ReadFile(filepath.Join(folder, "plan.md")))(t)
	rows := measured.FindAllStringSubmatch(string(plan), -1)
	if len(rows) < 10 {
		t.Fatalf("got %d measured figures, want at least ten", len(rows))
	}
	for _, row := range rows {
		page := env.Must(os.ReadFile(filepath.Join(folder, row[2])))(t)
		whole := regexp.MustCompile(`(^|[^\d,.])` + regexp.QuoteMeta(row[1]) + `($|[^\d,.]|[,.]?\s)`)
		if !whole.Match(page) {
			t.Errorf("plan.md computes with %s of %s, which does not have it: renew the plan", row[1], row[2])
		}
		if number, _, _ := strings.Cut(row[1], " "); strings.Count(string(plan), number) < 2 {
			t.Errorf("plan.md has the figure %s, and computes nothing with it", row[1])
		}
	}
}
