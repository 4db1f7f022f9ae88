package mcp_test

import (
	"strings"
	"testing"

	"pnyx/cache"
	"pnyx/governance"
	"pnyx/test/apinode"
)

func TestStatusSaysInWordsThatDataIsImported(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	at := governance.Timestamp(1772323200000) // 2026-03-01
	writer := n.Store.NewWriter(2)
	status := governance.DataStatus{Scope: governance.ScopeGlobal, LatestSuccessfulSync: governance.LatestSync{GovernanceAt: &at}}
	if err := writer.SetPayload(t.Context(), cache.DataStatusKey(""), cache.View{DataAsOf: apinode.AsOf, Readiness: governance.Ready}, status); err != nil {
		t.Fatal(err)
	}
	if err := writer.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	got := n.callAs("get_status", `{}`, asInternal()...)
	if !strings.Contains(string(got.StructuredContent), `"freshness":"imported; newest record March 2026"`) {
		t.Errorf("got %s", got.StructuredContent)
	}
}
