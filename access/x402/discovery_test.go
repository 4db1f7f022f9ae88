package x402_test

import (
	"encoding/base64"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pnyx/access/x402"
	"pnyx/test/env"
)

func withDiscovery(o *x402.Options) {
	o.Terms.Discovery = func(routeID, path string) any {
		if strings.Contains(routeID, "+") {
			return nil
		}
		return map[string]any{"info": map[string]any{"path": path}}
	}
}

func TestOnlyPathsAreDescribedToIndexes(t *testing.T) {
	t.Parallel()
	f := newFixture(t, withDiscovery)
	for name, c := range map[string]struct {
		routeID, url string
		want         map[string]any
	}{
		"a path": {
			"proposals.detail", "/v2/proposals/p1_x",
			map[string]any{"bazaar": map[string]any{"info": map[string]any{"path": "/v2/proposals/p1_x"}}},
		},
		"a tool":                   {"proposals.detail", "mcp://tool/proposal", nil},
		"a tool of several routes": {"proposals.detail+proposals.list", "mcp://tool/proposals", nil},
		"what has no description":  {"proposals.detail+proposals.list", "/v2", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			challenge := f.Challenge(x402.Request{RouteID: c.routeID, URL: c.url}).Challenge
			env.WantSame(t, "extensions", c.want, challenge.Extensions)
			env.Want(t, (c.want != nil), strings.Contains(decoded(t, challenge.Header()), "extensions"), "the header has extensions", c.want != nil)
		})
	}
}

// Clients send the extensions of the terms back, and may change them.
func TestFacilitatorGetsTheExtensionsOfTheTerms(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		settings []setting
		// echo is what the client sends back; empty for nothing.
		echo           string
		want, resource any
	}{
		"no extension":                     {nil, "", nil, nil},
		"an extension that nobody offered": {nil, `{"bazaar":{"info":{"path":"/elsewhere"}}}`, nil, nil},
		"no echo":                          {[]setting{withDiscovery}, "", offeredExtensions(), offeredResource()},
		"an echo":                          {[]setting{withDiscovery}, `{"bazaar":{"info":{"path":"/v2/proposals/p1_x"}}}`, offeredExtensions(), offeredResource()},
		"another echo":                     {[]setting{withDiscovery}, `{"bazaar":{"info":{"path":"/elsewhere"}},"more":1}`, offeredExtensions(), offeredResource()},
		"a broken echo":                    {[]setting{withDiscovery}, `"bazaar"`, offeredExtensions(), offeredResource()},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, c.settings...)
			header := withExtensions(t, f.pay().Header(), c.echo)
			f.wantBought(header, "answer", "answer")
			f.wantCharged(1)
			for _, call := range []string{"verify", "settle"} {
				payload := f.ledger.Payment(call)
				if diff := cmp.Diff(c.want, payload["extensions"]); diff != "" {
					t.Errorf("%s: extensions (-want +got):\n%s", call, diff)
				}
				if diff := cmp.Diff(c.resource, payload["resource"]); diff != "" {
					t.Errorf("%s: resource (-want +got):\n%s", call, diff)
				}
			}
		})
	}
}

func offeredExtensions() any {
	return map[string]any{"bazaar": map[string]any{"info": map[string]any{"path": "/v2/proposals/p1_x"}}}
}

func offeredResource() any {
	return map[string]any{
		"url": "https://api.example.org/v2/proposals/p1_x", "description": "One proposal with its full text.",
		"mimeType": "application/json",
	}
}

func withExtensions(t *testing.T, header, extensions string) string {
	t.Helper()
	if extensions == "" {
		return header
	}
	text := strings.TrimSuffix(decoded(t, header), "}") + `,"extensions":` + extensions + "}"
	return base64.StdEncoding.EncodeToString([]byte(text))
}
