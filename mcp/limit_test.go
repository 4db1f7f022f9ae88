package mcp_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"pnyx/access"
	"pnyx/api"
	"pnyx/api/apierror"
	"pnyx/api/routes"
	"pnyx/ratelimit"
	"pnyx/reference"
	"pnyx/test/apinode"
	"pnyx/test/env"
	"pnyx/test/facilitator"
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

// priced matches prices and what is said of paying them.
var priced = regexp.MustCompile(`USDC|\b0\.005\b|eip155:84532|x402|PAYMENT-SIGNATURE|x-price|(?i:pay per request|or a payment|"accepts"|to pay)`)

// TestPricesAreShownWherePaymentsAreTaken reads all that a node says of itself. What the
// route of the prices answers is not looked at, nor are clients and guides, which are for any node.
func TestPricesAreShownWherePaymentsAreTaken(t *testing.T) {
	t.Parallel()
	for name, ledger := range map[string]*facilitator.Ledger{"off": nil, "on": facilitator.NewLedger(t)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := startNode(t, apinode.Settings{Payments: ledger})
			texts := map[string]string{
				"tools":    n.post(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`).Body,
				"greeting": n.post(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18"}}`).Body,
				"token":    n.callAs("get_dao", `{"daoId":"dao-000","timeline":"true"}`, "x-service-api-token", "wrong").Content[0].Text,
			}
			for _, path := range reference.Paths() {
				if !strings.HasPrefix(path, "/clients/") && !strings.HasPrefix(path, "/docs/guides/") && !strings.HasSuffix(path, ".js") && path != "/docs/meta.pricing.md" {
					texts[path] = withoutPricingRoute(t, path, n.Send(http.MethodGet, path, "", nil).Body)
				}
			}
			for path, text := range texts {
				if found := priced.FindStringIndex(text); ledger == nil && found != nil {
					t.Errorf("%s: got a price without payments: %s", path, text[max(found[0]-200, 0):min(found[1]+80, len(text))])
				}
			}
			if ledger == nil {
				return
			}
			for path, want := range map[string]string{
				api.PathDocs: "or 0.005 USDC. Counts", api.PathLLMs: "[plus, 0.005 USDC]", api.PathOpenAPI: `"x-price":{"amount":"0.005","network":"eip155:84532","token":"USDC"}`,
				"/docs/daos.voters.md": "or 0.005 USDC a request", "greeting": "or a payment for each call", "tools": `"accepts"`,
			} {
				env.WantPart(t, want, texts[path], path)
			}
		})
	}
}

// withoutPricingRoute returns a document without its description of the route of the prices.
func withoutPricingRoute(t *testing.T, path, text string) string {
	t.Helper()
	switch path {
	case api.PathDocs:
		before, after, _ := strings.Cut(text, `<section class="route" id="meta.pricing"`)
		_, after, _ = strings.Cut(after, `<section class="route"`)
		return before + after
	case api.PathOpenAPI, api.PathOpenAPIAlias:
		document := decode[struct {
			Info, Tags, Webhooks any
			Paths                map[string]any
			Components           struct { // but headers, which are of the contract
				Schemas, Responses map[string]any
			}
		}](t, text)
		for _, name := range []string{"Pricing", "RoutePrice"} {
			delete(document.Components.Schemas, name)
		}
		delete(document.Paths, routes.PathPricing)
		rest := env.Must(json.Marshal(document))(t)
		return string(rest)
	}
	return text
}
