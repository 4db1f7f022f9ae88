package doc_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pnyx/api"
	"pnyx/api/doc"
	"pnyx/api/doc/openapi"
	"pnyx/governance"
	"pnyx/governance/rules"
	"pnyx/ratelimit"
	"pnyx/test/openapitest"
)

// defaultPrices are those of the default settings, which the published document has.
func defaultPrices() api.Prices {
	prices := api.Prices{Token: "USDC", Network: "eip155:8453", Paid: map[string]governance.Decimal{}}
	for _, route := range api.Routes() {
		switch route.Tier {
		case api.Standard:
			prices.Paid[route.ID] = "0.001"
		case api.Plus:
			prices.Paid[route.ID] = "0.005"
		case api.Free:
		}
	}
	return prices
}

// openAPI returns the OpenAPI document.
func openAPI(t *testing.T) []byte {
	t.Helper()
	text, err := doc.OpenAPI(defaultPrices())
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestPublishedDocumentsAreUpToDate(t *testing.T) {
	t.Parallel()
	for file, render := range map[string]func() ([]byte, error){
		"agent-v2.json": func() ([]byte, error) { return doc.OpenAPI(defaultPrices()) },
		"decisions.md":  doc.Decisions,
		"caching.md":    doc.CachingTable,
		"rules.md":      func() ([]byte, error) { return rules.Rulebook(), nil },
	} {
		t.Run(file, func(t *testing.T) {
			t.Parallel()
			published, err := os.ReadFile(filepath.Join("../../docs", file))
			if err != nil {
				t.Fatal(err)
			}
			rendered, err := render()
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(published), string(rendered)); diff != "" {
				t.Errorf("run make docs (-published +rendered):\n%s", diff)
			}
		})
	}
}

func TestDocumentsSayWhetherPaymentPerRequestIsOn(t *testing.T) {
	t.Parallel()
	for _, on := range []bool{false, true} {
		prices := defaultPrices()
		prices.PayPerRequest = on
		for _, document := range doc.Documents(prices) {
			if document.Path != api.PathLLMs && document.Path != api.PathOpenAPI {
				continue
			}
			text, err := document.Render()
			if err != nil {
				t.Fatal(err)
			}
			if off := strings.Contains(string(text), "off on this node"); off == on {
				t.Errorf("%s, with payments %t: says that they are off: %t", document.Path, on, off)
			}
			offered := strings.Contains(string(text), "[plus, 0.005 USDC]") || strings.Contains(string(text), "or 0.005 USDC a request")
			if offered != on {
				t.Errorf("%s, with payments %t: a route is offered for USDC: %t", document.Path, on, offered)
			}
		}
	}
}

func TestDocumentsListThePlans(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	llms, err := doc.Documents(defaultPrices())[1].Render()
	if err != nil {
		t.Fatal(err)
	}
	for _, plan := range ratelimit.DescribePlans() {
		row := "| `" + plan.Name + "` | " + plan.Month + " | " + plan.Standard + " | " + plan.Detail + " |"
		if !strings.Contains(string(readme), row) {
			t.Errorf("README.md lacks %s: run `make docs`", row)
		}
		if !strings.Contains(string(openAPI(t)), row) {
			t.Errorf("the OpenAPI document lacks %s", row)
		}
		if line := "- " + plan.Name + ": "; !strings.Contains(string(llms), line) || !strings.Contains(string(llms), plan.Standard) {
			t.Errorf("llms.txt lacks %s", line)
		}
	}
}

func TestChangedSurfaceNeedsAnotherVersion(t *testing.T) {
	t.Parallel()
	before := openAPI(t)
	for _, test := range []struct {
		name, old, with string
		refused         bool
	}{
		{"nothing", "", "", false},
		{"the bound of a parameter", `"maximum": 100`, `"maximum": 99`, true},
		{"the name of a parameter", `"name": "hasVoteData"`, `"name": "hasVotes"`, true},
		{"a field", `"uniqueVoters"`, `"voters"`, true},
		{"a field named summary", `"summary": {`, `"abstract": {`, true},
		{"an enumeration", `"executed"`, `"enacted"`, true},
		{"a path", `"/v2/daos"`, `"/v2/organizations"`, true},
		{"a description", "exact to the last digit", "exact", false},
		{"a price", `"amount": "0.005"`, `"amount": "0.006"`, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			after := string(before)
			if test.old != "" {
				after = strings.ReplaceAll(after, test.old, test.with)
			}
			if got := errors.Is(doc.CheckVersion(before, []byte(after)), doc.ErrSameVersion); got != test.refused {
				t.Errorf("got refused %t, want %t", got, test.refused)
			}
			raised := strings.Replace(after, `"version": "`, `"version": "9`, 1)
			if err := doc.CheckVersion(before, []byte(raised)); err != nil {
				t.Errorf("under another version: got %v, want no error", err)
			}
		})
	}
}

func TestDocumentDescribesPublicRoutesOnly(t *testing.T) {
	t.Parallel()
	text := openAPI(t)
	var document struct {
		Paths map[string]map[string]struct {
			OperationID string `json:"operationId"`
			Tier        string `json:"x-tier"`
			Bucket      string `json:"x-bucket"`
			Security    []map[string][]string
			Parameters  []struct{ Name, In string }
		}
	}
	if err := json.Unmarshal(text, &document); err != nil {
		t.Fatal(err)
	}
	for _, internal := range []string{"internal-token", "/metrics", "/healthz", "/readyz", "clickhouse", "redis", "v1:"} {
		if strings.Contains(strings.ToLower(string(text)), internal) {
			t.Errorf("the document contains %q", internal)
		}
	}
	if got, want := len(document.Paths), len(api.Routes()); got != want {
		t.Errorf("got %d paths, want %d", got, want)
	}
	for _, route := range api.Routes() {
		t.Run(route.ID, func(t *testing.T) {
			t.Parallel()
			operation := document.Paths[openapi.PathTemplate(route.Path)]["get"]
			if operation.OperationID != route.ID || operation.Tier != string(route.Tier) || operation.Bucket != string(route.Bucket()) {
				t.Errorf("got %+v, want the id, tier and bucket of the route", operation)
			}
			if got, want := len(operation.Parameters), len(route.Params); got != want {
				t.Errorf("got %d parameters, want %d", got, want)
			}
			if got, want := len(operation.Security) > 0, route.Paid() || route.TokenOnly; got != want {
				t.Errorf("got security %t, want %t", got, want)
			}
		})
	}
}

func TestEveryTypeAndFieldIsDescribed(t *testing.T) {
	t.Parallel()
	for _, route := range api.Routes() {
		if route.Returns == nil {
			t.Errorf("%s: got no type of data, want one in the table of routes", route.ID)
		}
	}
	schemas, err := doc.Schemas()
	if err != nil {
		t.Fatal(err)
	}
	if missing := schemas.Undescribed(); len(missing) > 0 {
		t.Errorf("got no description of %q, want them in descriptions.json", missing)
	}
	if unused := schemas.Unused(); len(unused) > 0 {
		t.Errorf("got descriptions of %q, which no answer has", unused)
	}
}

func TestExamplesMatchTheirSchemas(t *testing.T) {
	t.Parallel()
	text := openAPI(t)
	type content map[string]struct {
		Example  json.RawMessage
		Examples map[string]struct{ Value json.RawMessage }
	}
	var document struct {
		Paths map[string]struct {
			Get struct {
				Responses map[string]struct{ Content content }
			}
		}
		Components struct {
			Responses map[string]struct{ Content content }
		}
	}
	if err := json.Unmarshal(text, &document); err != nil {
		t.Fatal(err)
	}
	contract := openapitest.New(t, text)
	for path, item := range document.Paths {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			example := item.Get.Responses["200"].Content["application/json"].Example
			if err := contract.Check(path, 200, nil, example); err != nil {
				t.Error(err)
			}
		})
	}
	var shown []string
	for _, response := range document.Components.Responses {
		for code, example := range response.Content["application/json"].Examples {
			shown = append(shown, code)
			t.Run(code, func(t *testing.T) {
				t.Parallel()
				status := 500
				if code == string(api.CodeValidation) {
					status = 400
				}
				if err := contract.Check("/v2/daos", status, nil, example.Value); err != nil {
					t.Error(err)
				}
			})
		}
	}
	for _, info := range api.Codes() {
		if info.Code != api.CodeMethodNotAllowed && !slices.Contains(shown, string(info.Code)) {
			t.Errorf("%s %s: got no example, want one", strconv.Itoa(info.Status), info.Code)
		}
	}
}
