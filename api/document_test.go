package api_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pnyx/api"
	"pnyx/api/doc/openapi/openapitest"
	"pnyx/governance/rules"
)

// published is the document in the repository.
const published = "../docs/agent-v2.json"

func TestThePublishedDocumentIsThatOfTheRoutes(t *testing.T) {
	t.Parallel()
	before, err := os.ReadFile(published)
	if err != nil {
		t.Fatal(err)
	}
	after, err := api.OpenAPI(samplePrices())
	if err != nil {
		t.Fatal(err)
	}
	if err := api.CheckVersion(before, after); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff(string(before), string(after)); diff != "" {
		t.Errorf("run make docs (-published +routes):\n%s", diff)
	}
	decisions, err := api.Decisions()
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string][]byte{"decisions.md": decisions, "rules.md": rules.Rulebook()} {
		written, err := os.ReadFile("../docs/" + name)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(written), string(text)); diff != "" {
			t.Errorf("run make docs (-published +code):\n%s", diff)
		}
	}
}

func TestAChangedSurfaceNeedsAnotherVersion(t *testing.T) {
	t.Parallel()
	text, err := api.OpenAPI(samplePrices())
	if err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]struct {
		old, with string
		refused   bool
	}{
		"a parameter's bound":   {`"maximum": 100`, `"maximum": 99`, true},
		"a parameter's name":    {`"name": "hasVoteData"`, `"name": "hasVotes"`, true},
		"a field":               {`"uniqueVoters"`, `"voters"`, true},
		"a field named summary": {`"summary": {`, `"abstract": {`, true},
		"an enumeration":        {`"executed"`, `"enacted"`, true},
		"a path":                {`"/v2/daos"`, `"/v2/organizations"`, true},
		"a description":         {"exact to the last digit", "exact", false},
		"a price":               {`"amount": "0.005"`, `"amount": "0.006"`, false},
		"nothing":               {"", "", false},
	} {
		changed := strings.ReplaceAll(string(text), change.old, change.with)
		if change.old == "" {
			changed = string(text)
		}
		if got := errors.Is(api.CheckVersion(text, []byte(changed)), api.ErrSameVersion); got != change.refused {
			t.Errorf("%s: refused %t, want %t", name, got, change.refused)
		}
		raised := strings.Replace(changed, `"version": "`, `"version": "9`, 1)
		if err := api.CheckVersion(text, []byte(raised)); err != nil {
			t.Errorf("%s under another version: %v", name, err)
		}
	}
}

func TestTheDocumentHoldsThePublicRoutesAndNoOthers(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	var document struct {
		Paths map[string]map[string]struct {
			OperationID string `json:"operationId"`
			Tier        string `json:"x-tier"`
			Bucket      string `json:"x-bucket"`
			Security    []map[string][]string
			Parameters  []struct{ Name, In string }
		}
	}
	text := n.get("/openapi/agent-v2.json").body
	if err := json.Unmarshal([]byte(text), &document); err != nil {
		t.Fatal(err)
	}
	for _, hidden := range []string{"internal-token", "/metrics", "/healthz", "/readyz", "clickhouse", "redis", "v1:"} {
		if strings.Contains(strings.ToLower(text), hidden) {
			t.Errorf("the document says %q", hidden)
		}
	}
	for _, route := range api.Routes() {
		path := documented(route.Path)
		operation, known := document.Paths[path]["get"]
		delete(document.Paths, path)
		if !known || operation.OperationID != route.ID || operation.Tier != string(route.Tier) || operation.Bucket != string(route.Bucket()) {
			t.Errorf("%s: got %+v", path, operation)
		}
		if len(operation.Parameters) != len(route.Params) || (len(operation.Security) > 0) != (route.Paid() || route.TokenOnly) {
			t.Errorf("%s: got parameters %v, security %v", path, operation.Parameters, operation.Security)
		}
	}
	if len(document.Paths) > 0 {
		t.Errorf("paths of no route: %v", document.Paths)
	}
}

// documented is a route's path as the document writes it.
func documented(path string) string {
	parts := strings.Split(path, "/")
	for i, part := range parts {
		if name, is := strings.CutPrefix(part, ":"); is {
			parts[i] = "{" + name + "}"
		}
	}
	return strings.Join(parts, "/")
}

func TestEveryRouteSaysWhatItReturnsAndEveryFieldWhatItIs(t *testing.T) {
	t.Parallel()
	for _, route := range api.Routes() {
		if route.Returns == nil {
			t.Errorf("%s: say in the table what it returns", route.ID)
		}
	}
	missing, err := api.Undescribed()
	if err != nil {
		t.Fatal(err)
	}
	if len(missing) > 0 {
		t.Errorf("neither a comment nor a row in api/field.go says what these are: %q", missing)
	}
}

func TestExamplesKeepTheContract(t *testing.T) {
	t.Parallel()
	text, err := api.OpenAPI(samplePrices())
	if err != nil {
		t.Fatal(err)
	}
	var document struct {
		Paths map[string]struct {
			Get struct {
				Responses map[string]struct {
					Content map[string]struct{ Example json.RawMessage }
				}
			}
		}
		Components struct {
			Responses map[string]struct {
				Content map[string]struct {
					Examples map[string]struct{ Value json.RawMessage }
				}
			}
		}
	}
	if err := json.Unmarshal(text, &document); err != nil {
		t.Fatal(err)
	}
	contract := openapitest.New(t, text)
	for path, item := range document.Paths {
		example := item.Get.Responses["200"].Content["application/json"].Example
		if err := contract.Check(path, 200, nil, example); err != nil {
			t.Error(err)
		}
	}
	var shown []string
	for _, response := range document.Components.Responses {
		for code, example := range response.Content["application/json"].Examples {
			shown = append(shown, code)
			status := map[bool]int{true: 400, false: 500}[code == string(api.CodeValidation)]
			if err := contract.Check("/v2/daos", status, nil, example.Value); err != nil {
				t.Error(err)
			}
		}
	}
	for _, info := range api.Codes() {
		if info.Code != api.CodeMethodNotAllowed && !slices.Contains(shown, string(info.Code)) {
			t.Errorf("%s has no example", info.Code)
		}
	}
}

func TestRecordedAnswersKeepTheContract(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	contract := openapitest.New(t, []byte(n.get("/openapi/agent-v2.json").body))
	for name, path := range goldens() {
		for _, route := range api.Routes() {
			if !matches(route.Path, path) {
				continue
			}
			got := n.get(path)
			if err := contract.Check(documented(route.Path), got.status, got.header, []byte(got.body)); err != nil {
				t.Errorf("%s: %v", filepath.Join("testdata", name), err)
			}
			break
		}
	}
}

// matches says whether a request asks for a route.
func matches(route, request string) bool {
	path, _, _ := strings.Cut(request, "?")
	want, got := strings.Split(route, "/"), strings.Split(path, "/")
	return slices.EqualFunc(want, got, func(w, g string) bool { return w == g || strings.HasPrefix(w, ":") })
}
