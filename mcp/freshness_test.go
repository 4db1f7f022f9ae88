package mcp_test

import (
	"fmt"
	"strings"
	"testing"

	"pnyx/access"
	"pnyx/api/apierror"
	"pnyx/cache"
	"pnyx/governance"
	"pnyx/ratelimit"
	"pnyx/test/apinode"
	"pnyx/test/env"
)

func TestStatusSaysInWordsThatDataIsImported(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	at := governance.Timestamp(1772323200000) // 2026-03-01
	writer := n.Store.NewWriter(2)
	status := governance.DataStatus{Scope: governance.ScopeGlobal, LatestSuccessfulSync: governance.LatestSync{GovernanceAt: &at}}
	writer.SetPayload(t.Context(), cache.DataStatusKey(""), cache.View{DataAsOf: apinode.AsOf, Readiness: governance.Ready}, status)
	env.MustDo(t, writer.Flush(t.Context()))
	got := n.callAs("get_status", `{}`, asInternal()...)
	env.WantPart(t, `"freshness":"imported; newest record March 2026"`, string(got.StructuredContent))
}

func TestAnswersTogetherAreAsCompleteAsTheLeastOne(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	writer := n.Store.NewWriter(2)
	for key, held := range map[cache.Key]governance.VoteCoverage{
		cache.DAODetailKey("dao-000"): governance.VotesReady, cache.TimelineKey("dao-000", governance.VotesCast): governance.VotesPartial,
	} {
		writer.SetPayload(t.Context(), key, cache.View{DataAsOf: apinode.AsOf, Readiness: governance.Ready, VoteCoverage: held}, sampleViews()[key])
	}
	env.MustDo(t, writer.Flush(t.Context()))
	got := n.callAs("get_dao", `{"daoId":"dao-000","timeline":"votes_cast"}`, asInternal()...)
	env.WantPart(t, `"voteCoverageStatus":"partial"`, string(got.StructuredContent), "what holds of the timeline")
}

func TestWhatIsKnownWithoutRedisIsAnswered(t *testing.T) {
	t.Parallel()
	redis := env.Redis(t)
	n := startNode(t, apinode.Settings{RedisURL: redis.URL})
	ample := ratelimit.Rate{PerMinute: 600, Burst: 200}
	token := []string{access.HeaderToken, n.Admit(ratelimit.Limits{Month: 50, Standard: ample, Detail: ample}, access.V2All)}
	const timeline = `{"daoId":"dao-000","timeline":"votes_cast"}`
	for tool, arguments := range map[string]string{"get_status": `{}`, "get_dao": timeline} {
		if got := n.callAs(tool, arguments, token...); got.IsError || strings.Contains(string(got.StructuredContent), `"hint"`) {
			t.Fatalf("%s: got %s, want all of it", tool, got.StructuredContent)
		}
	}
	redis.Kill()
	for _, test := range []struct{ tool, arguments, has, lacks, hint string }{
		{"get_status", `{}`, `"pricing":{`, `"usage":`, "usage cannot be read at the moment: try again shortly"},
		{"get_status", `{}`, `"status":{"scope"`, `"usage":`, "usage cannot be read"},
		{"get_status", `{"daoId":"unread"}`, `"pricing":{`, `"status":{"scope"`, "status and usage cannot be read"},
		{"get_dao", timeline, `"dao":{"daoId"`, `"timeline":`, "timeline cannot be read"},
	} {
		env.Until(t, func() error { // the node's copies of what is paid last a moment
			got := n.callAs(test.tool, test.arguments, token...)
			text := string(got.StructuredContent)
			if got.IsError || !strings.Contains(text, test.has) || strings.Contains(text, test.lacks) || !strings.Contains(text, `"hint":"`+test.hint) {
				return fmt.Errorf("%s %s: got %s, want %s and no %s", test.tool, test.arguments, text, test.has, test.lacks)
			}
			return nil
		})
	}
	n.wantCode(apierror.CodeUnavailable, "get_dao", `{"daoId":"unread"}`, token...)
}
