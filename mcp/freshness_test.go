package mcp_test

import (
	"strings"
	"testing"

	"pnyx/cache"
	"pnyx/governance"
	"pnyx/test/apinode"
	"pnyx/test/env"
)

func TestStatusSaysInWordsThatDataIsImported(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	at := governance.Timestamp(1772323200000) // 2026-03-01
	writer := n.Store.NewWriter(2)
	status := governance.DataStatus{Scope: governance.ScopeGlobal, LatestSuccessfulSync: governance.LatestSync{GovernanceAt: &at}}
	env.MustDo(t, writer.SetPayload(t.Context(), cache.DataStatusKey(""), cache.View{DataAsOf: apinode.AsOf, Readiness: governance.Ready}, status))
	env.MustDo(t, writer.Flush(t.Context()))
	got := n.callAs("get_status", `{}`, asInternal()...)
	if !strings.Contains(string(got.StructuredContent), `"freshness":"imported; newest record March 2026"`) {
		t.Errorf("got %s", got.StructuredContent)
	}
}
