package mcp_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"pnyx/access"
	"pnyx/api/apierror"
	"pnyx/ratelimit"
	"pnyx/test/apinode"
	"pnyx/test/env"
)

// used is how many answers of the month the caller has used; empty for an unknown caller.
func (t *node) used(header []string) string {
	t.Helper()
	status := decode[envelope](t, string(t.callAs("get_status", `{}`, header...).StructuredContent))
	return decode[struct {
		Usage struct{ Month struct{ Used string } }
	}](t, string(status.Data)).Usage.Month.Used
}

// wantUsed waits for a count: refunds are written with the next request.
func (t *node) wantUsed(header []string, want string) {
	t.Helper()
	env.Until(t, func() error {
		if got := t.used(header); got != want {
			return fmt.Errorf("used: got %s, want %s", got, want)
		}
		return nil
	})
}

// wantCode calls a tool, which must fail.
func (t *node) wantCode(code apierror.Code, tool, arguments string, header ...string) {
	t.Helper()
	got := t.callAs(tool, arguments, header...)
	if failed := decode[envelope](t, string(got.StructuredContent)); !got.IsError || failed.Error.Code != code {
		t.Fatalf("%s %s: got %s, want %s", tool, arguments, got.Content[0].Text, code)
	}
}

func TestEachRouteCountsTowardsTheMonth(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	ample := ratelimit.Rate{PerMinute: 600, Burst: 200}
	header := []string{"Authorization", "bearer " + n.Admit(ratelimit.Limits{Month: 5, Standard: ample, Detail: ample}, access.V2All)}
	if got := n.callAs("get_proposal", oneProposal, header...); got.IsError {
		t.Fatalf("got %s, want the proposal", got.Content[0].Text)
	}
	n.wantUsed(header, "2")
	n.wantCode(apierror.CodeNotFound, "get_proposal", `{"proposalKey":"`+string(unknownKey)+`"}`, header...)
	n.wantCode(apierror.CodeValidation, "get_proposal", `{"proposalKey":"`+string(hugeKey)+`"}`, header...)
	n.wantCode(apierror.CodeValidation, "list_ballots", `{"proposalKey":"`+string(sampleKey)+`","cursor":"abc"}`, header...)
	n.wantUsed(header, "2")
	all := strings.Replace(oneProposal, "}", `,"include":["votes","evidence"]}`, 1)
	if got := n.callAs("list_signals", `{"detail":"full","limit":50}`, header...); got.IsError {
		t.Fatalf("got %s, want a page", got.Content[0].Text)
	}
	n.wantUsed(header, "3")
	n.wantCode(apierror.CodeQuotaExceeded, "get_proposal", all, header...)
	n.wantUsed(header, "3")
}

func TestAddressesAreLimitedAsOverHTTP(t *testing.T) {
	t.Parallel()
	n := startNode(t, apinode.Settings{FreeRate: 60})
	var last toolResult
	for calls := range 1000 { // a slow machine gives the bucket time to fill
		if last = n.callAs("find_daos", `{"limit":1}`); last.IsError {
			break
		}
		if calls == 999 {
			t.Fatal("no call is refused")
		}
	}
	if text := last.Content[0].Text; !strings.HasPrefix(text, "RATE_LIMITED: ") || !strings.Contains(text, " seconds.") {
		t.Errorf("got %q, want when to try again", text)
	}
}

func TestCallsAreCountedByToolAndOutcome(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	n.wantData("find_daos", `{}`)
	n.wantCode(apierror.CodeNotFound, "get_proposal", `{"proposalKey":"`+string(unknownKey)+`"}`, asInternal()...)
	secret := "an-argument-that-no-log-may-have"
	n.wantCode(apierror.CodeValidation, "list_voters", `{"daoId":"`+secret+`","limit":0}`, asInternal()...)
	want := `
# HELP pnyx_mcp_calls_total Calls of tools, by tool and outcome: ok, or the code of the error.
# TYPE pnyx_mcp_calls_total counter
`
	for _, tool := range n.list() {
		ok := map[string]int{"find_daos": 1}[tool.Name]
		want += fmt.Sprintf("pnyx_mcp_calls_total{outcome=\"ok\",tool=%q} %d\n", tool.Name, ok)
	}
	want += `pnyx_mcp_calls_total{outcome="NOT_FOUND",tool="get_proposal"} 1
pnyx_mcp_calls_total{outcome="VALIDATION_ERROR",tool="list_voters"} 1
`
	env.WantError(t, nil, testutil.GatherAndCompare(n.Registry, strings.NewReader(want), "pnyx_mcp_calls_total"))
	logged := n.Logged.String()
	for _, part := range []string{`"route":"mcp"`, `"tool":"get_proposal"`, `"code":"NOT_FOUND"`} {
		env.WantPart(t, part, logged, "log")
	}
	for _, part := range []string{secret, string(unknownKey)} {
		if strings.Contains(logged, part) {
			t.Errorf("the log has the argument %s", part)
		}
	}
}
