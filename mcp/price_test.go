package mcp_test

import (
	"encoding/json"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"pnyx/api"
	"pnyx/api/routes"
	"pnyx/reference"
	"pnyx/test/apinode"
	"pnyx/test/env"
	"pnyx/test/facilitator"
)

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
