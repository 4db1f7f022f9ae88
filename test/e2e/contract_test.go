package e2e_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"pnyx/access"
	"pnyx/api"
	"pnyx/api/doc/openapi"
	"pnyx/test/env"
	"pnyx/test/openapitest"
)

// harvest is the maximum number of values to try for one parameter.
const harvest = 4

// TestAnswersMatchTheOpenAPIDocument requests every route with demonstration data, with
// valid and invalid parameters and with ids from earlier answers, and checks each response
// against the OpenAPI document that the instance serves.
func TestAnswersMatchTheOpenAPIDocument(t *testing.T) {
	t.Parallel()
	env.RequireEngine(t)
	i := startShared(t, []string{"PNYX_REQUEST_TIMEOUT=20s"}, "serve", "--demo").ready()
	status, document, err := env.Fetch(i.URL + "/openapi/agent-v2.json")
	if err != nil || status != http.StatusOK {
		t.Fatalf("the OpenAPI document: %d, %v", status, err)
	}
	s := &apiSurface{instance: i, contract: openapitest.New(t, document), known: map[string][]string{}, answered: map[string]map[int]int{}}
	// Ids in the answers of one route are parameters of others.
	for range 3 {
		for _, route := range api.Routes() {
			s.askRightly(t, route)
		}
	}
	for _, route := range api.Routes() {
		s.askWrongly(t, route)
		got := s.answered[route.ID]
		// Usage is returned only to the token itself.
		if got[http.StatusOK] == 0 && !route.TokenOnly || got[http.StatusBadRequest] == 0 {
			t.Errorf("%s: got %v answers by status, want good and bad ones", route.ID, got)
		}
	}
}

// apiSurface is a running instance, with the ids and statuses of its answers so far.
type apiSurface struct {
	*instance
	contract *openapitest.Contract
	known    map[string][]string // values of parameters
	answered map[string]map[int]int
}

// askRightly requests a route with its required parameters alone, and with each other one.
func (s *apiSurface) askRightly(t *testing.T, route api.Route) {
	t.Helper()
	for _, path := range s.paths(route) {
		required := s.required(route)
		s.ask(t, route, path, required)
		for _, param := range route.Params {
			if param.In == api.InPath || param.Kind == api.Cursor {
				continue
			}
			for _, value := range s.values(param) {
				query, err := url.ParseQuery(required.Encode())
				if err != nil {
					t.Fatal(err)
				}
				query.Set(param.Name, value)
				s.ask(t, route, path, query)
			}
		}
	}
}

func (s *apiSurface) askWrongly(t *testing.T, route api.Route) {
	t.Helper()
	for _, path := range s.paths(route) {
		s.ask(t, route, path, url.Values{"includeVotes": {"true"}})
		for _, param := range route.Params {
			if param.In == api.InPath {
				s.ask(t, route, strings.ReplaceAll(route.Path, ":"+param.Name, "nobody"), s.required(route))
				continue
			}
			for _, value := range []string{"", "\x00", "nonsense", "-1", strings.Repeat("x", 600)} {
				s.ask(t, route, path, url.Values{param.Name: {value}})
			}
			s.ask(t, route, path, url.Values{param.Name: {"1", "1"}})
		}
	}
}

// paths are the paths of a route with the known values of its path parameters.
func (s *apiSurface) paths(route api.Route) []string {
	paths := []string{route.Path}
	for _, param := range route.Params {
		if param.In != api.InPath {
			continue
		}
		var filled []string
		for _, path := range paths {
			for _, value := range s.known[param.Name] {
				filled = append(filled, strings.ReplaceAll(path, ":"+param.Name, url.PathEscape(value)))
			}
		}
		paths = filled
	}
	return paths
}

func (s *apiSurface) required(route api.Route) url.Values {
	query := url.Values{}
	for _, param := range route.Params {
		if param.Required && param.In != api.InPath {
			query.Set(param.Name, param.Example)
		}
	}
	return query
}

// values are valid values of a parameter.
func (s *apiSurface) values(param api.Param) []string {
	switch {
	case len(param.Enum) > 0:
		return param.Enum
	case param.Kind == api.Boolean:
		return []string{"true", "false"}
	case param.Name == "limit":
		return []string{"1"}
	case len(s.known[param.Name]) > 0:
		return s.known[param.Name][:1]
	case param.Example != "":
		return []string{param.Example}
	}
	return nil
}

func (s *apiSurface) ask(t *testing.T, route api.Route, path string, query url.Values) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL+path+"?"+query.Encode(), http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set(access.HeaderInternal, env.InternalToken)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.contract.Check(openapi.PathTemplate(route.Path), response.StatusCode, response.Header, body); err != nil {
		t.Errorf("GET %s: %.2000v", request.URL, err)
	}
	if s.answered[route.ID] == nil {
		s.answered[route.ID] = map[int]int{}
	}
	s.answered[route.ID][response.StatusCode]++
	var read any
	if err := json.Unmarshal(body, &read); err == nil && response.StatusCode == http.StatusOK {
		s.learn(read)
	}
}

// learn records the ids in an answer.
func (s *apiSurface) learn(node any) {
	switch node := node.(type) {
	case map[string]any:
		for name, value := range node {
			id, is := value.(string)
			isID := slices.Contains([]string{"daoId", "proposalKey", "topicKey", "voterIdentity"}, name)
			if is && isID && len(s.known[name]) < harvest && !slices.Contains(s.known[name], id) {
				s.known[name] = append(s.known[name], id)
			}
			s.learn(value)
		}
	case []any:
		for _, value := range node {
			s.learn(value)
		}
	}
}
