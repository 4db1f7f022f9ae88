package mcp_test

import (
	"fmt"
	"strings"
	"testing"

	"pnyx/mcp"
)

// A dossier of a proposal with many actions takes no more than agents read: what is left out of
// it is its longest parts.
func TestEvidenceIsConcise(t *testing.T) {
	t.Parallel()
	evidence := func(actions, findings int) string {
		return fmt.Sprintf(`{"proposal":{"title":"a"},"provenance":[],"intelligence":{"status":"available","dossier":{"summary":"It pays.",`+
			`"decision":{"leader":null},"actions":[%s],"findings":[%s],"findingCounts":{"high":1}},"sourceRefs":[]},"warnings":[]}`,
			strings.Repeat(`"action",`, actions)+`"last"`, strings.Repeat(`"finding",`, findings)+`"last"`)
	}
	if short := evidence(3, 3); string(mcp.ConciseEvidence([]byte(short))) != short {
		t.Error("short evidence is changed")
	}
	for name, test := range map[string]struct {
		long     string
		findings bool
	}{"many actions": {evidence(3000, 3), true}, "many findings": {evidence(3000, 3000), false}} {
		got := string(mcp.ConciseEvidence([]byte(test.long)))
		if len(got) > 6<<10 || !strings.Contains(got, "It pays.") || !strings.Contains(got, `"high":1`) ||
			strings.Contains(got, "action\"") || strings.Contains(got, "finding\"") != test.findings {
			t.Errorf("%s: got %d bytes: %.300s", name, len(got), got)
		}
	}
}

// What findings name stays with them while there is room.
func TestConciseEvidenceHasWhatFindingsName(t *testing.T) {
	t.Parallel()
	evidence := func(actions int) string {
		return fmt.Sprintf(`{"proposal":{},"provenance":[%q],"intelligence":{"status":"available","dossier":{"summary":"It pays.","voters":%q,"actions":[%q],`+
			`"findings":[{"sentence":"Money moves.","facts":["/actions/0/inText"],"refs":["actions"]}]},"sourceRefs":[{"id":"actions"}]},"warnings":[]}`,
			"provenance", strings.Repeat("v", 7000), strings.Repeat("a", actions))
	}
	for actions, kept := range map[int]bool{100: true, 7000: false} {
		got := string(mcp.ConciseEvidence([]byte(evidence(actions))))
		if strings.Contains(got, "aaa") != kept || strings.Contains(got, "vvv") || !strings.Contains(got, `"refs":["actions"]`) || !strings.Contains(got, `"sourceRefs":[{"id":"actions"}]`) {
			t.Errorf("actions of %d bytes: got %.300s", actions, got)
		}
	}
}
