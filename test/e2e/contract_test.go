package e2e_test

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"pnyx/access"
	"pnyx/api/param"
	"pnyx/api/routes"
	"pnyx/reference/openapi"
	"pnyx/test/env"
	"pnyx/test/openapitest"
)

const (
	// maxKnown is the maximum number of ids from answers that are tried for one parameter.
	maxKnown = 4
	// maxReported is the maximum number of failures that are reported, in a line of maxReportedBytes.
	maxReported      = 5
	maxReportedBytes = 300
)

// Every route is requested with valid and invalid parameters and with ids from earlier answers, and each response
// checked against the OpenAPI document that the instance serves.
func TestAnswersMatchTheOpenAPIDocument(t *testing.T) {
	t.Parallel()
	env.RequireEngine(t)
	s := &apiSurface{known: map[string][]string{}, answered: map[string]map[int]int{}}
	// The failures are repeated below the output of the process, where a log that is cut still has them.
	t.Cleanup(func() {
		for _, failure := range s.failures {
			t.Log(failure)
		}
	})
	s.instance = startShared(t, nil, "serve", "--demo").ready()
	status, document, err := env.Fetch(s.URL + "/openapi/agent-v2.json")
	if err != nil || status != http.StatusOK {
		t.Fatalf("the OpenAPI document: %d, %v", status, err)
	}
	s.contract = openapitest.New(t, document)
	// Ids in the answers of one route are parameters of others.
	for range 3 {
		for _, route := range routes.All() {
			if route.Media == nil { // TestExport reads files
				s.askRightly(t, route)
			}
		}
	}
	for _, route := range routes.All() {
		if route.Media != nil {
			continue
		}
		s.askWrongly(t, route)
		got := s.answered[route.ID]
		// Usage is returned only to the token itself.
		if got[http.StatusOK] == 0 && !route.TokenOnly || got[http.StatusBadRequest] == 0 {
			s.fail(t, fmt.Sprintf("%s: got answers by status %v, want some of 200 and some of 400; known ids: %v", route.ID, got, s.known))
		}
	}
	s.showChoicesOfBallots(t)
}

// apiSurface is a running instance, with the ids and statuses of its answers so far.
type apiSurface struct {
	*instance
	contract *openapitest.Contract
	known    map[string][]string    // ids by the parameter that takes them
	answered map[string]map[int]int // answers by route and status
	failures []string
}

// fail fails the test, in lines of limited length, and few, for a log that is cut.
func (s *apiSurface) fail(t *testing.T, failure string) {
	t.Helper()
	line := strings.Join(strings.Fields(failure), " ")
	line = line[:min(len(line), maxReportedBytes)]
	switch len(s.failures) {
	case maxReported:
		t.Fatalf("more than %d failures", maxReported)
	default:
		s.failures = append(s.failures, line)
		t.Error(line)
	}
}

// askRightly requests a route with its required parameters alone, and with each other one.
func (s *apiSurface) askRightly(t *testing.T, route routes.Route) {
	t.Helper()
	for _, path := range s.paths(route) {
		required := s.required(route)
		s.ask(t, route, path, required)
		for _, one := range route.Params {
			if one.In == param.InPath || one.Kind == param.Cursor {
				continue
			}
			for _, value := range s.values(one) {
				query := env.Must(url.ParseQuery(required.Encode()))(t)
				query.Set(one.Name, value)
				s.ask(t, route, path, query)
			}
		}
	}
}

func (s *apiSurface) askWrongly(t *testing.T, route routes.Route) {
	t.Helper()
	for _, path := range s.paths(route) {
		s.ask(t, route, path, url.Values{"includeVotes": {"true"}})
		for _, one := range route.Params {
			if one.In == param.InPath {
				s.ask(t, route, strings.ReplaceAll(route.Path, ":"+one.Name, "nobody"), s.required(route))
				continue
			}
			for _, value := range []string{"", "\x00", "nonsense", "-1", strings.Repeat("x", 600)} {
				s.ask(t, route, path, url.Values{one.Name: {value}})
			}
			s.ask(t, route, path, url.Values{one.Name: {"1", "1"}})
		}
	}
}

// paths are the paths of a route with the known values of its path parameters.
func (s *apiSurface) paths(route routes.Route) []string {
	paths := []string{route.Path}
	for _, one := range route.Params {
		if one.In != param.InPath {
			continue
		}
		var filled []string
		for _, path := range paths {
			for _, value := range s.known[one.Name] {
				filled = append(filled, strings.ReplaceAll(path, ":"+one.Name, url.PathEscape(value)))
			}
		}
		paths = filled
	}
	return paths
}

func (s *apiSurface) required(route routes.Route) url.Values {
	query := url.Values{}
	for _, one := range route.Params {
		if one.Required && one.In != param.InPath {
			query.Set(one.Name, one.Example)
		}
	}
	return query
}

// values are valid values of a parameter.
func (s *apiSurface) values(one param.Param) []string {
	switch {
	case len(one.Enum) > 0:
		return one.Enum
	case one.Kind == param.Boolean:
		return []string{"true", "false"}
	case one.Name == "limit":
		return []string{"1"}
	case len(s.known[one.Name]) > 0:
		return s.known[one.Name][:1]
	case one.Example != "":
		return []string{one.Example}
	}
	return nil
}

// ask requests a path, again while the answer is 503 of a busy machine, and checks the answer.
func (s *apiSurface) ask(t *testing.T, route routes.Route, path string, query url.Values) {
	t.Helper()
	target := path + "?" + query.Encode()
	env.Until(t, func() error {
		if s.askOnce(t, route, target) == http.StatusServiceUnavailable {
			return fmt.Errorf("GET %s: got 503", target)
		}
		return nil
	})
}

// askOnce requests a path and query, checks the answer and returns its status.
func (s *apiSurface) askOnce(t *testing.T, route routes.Route, target string) (status int) {
	t.Helper()
	request := env.Must(http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL+target, http.NoBody))(t)
	request.Header.Set(access.HeaderInternal, env.InternalToken)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body := env.Must(io.ReadAll(response.Body))(t)
	status = response.StatusCode
	if err := s.contract.Check(openapi.PathTemplate(route.Path), status, response.Header, body); err != nil {
		s.fail(t, fmt.Sprintf("GET %.120s: %v", target, err))
	}
	if status == http.StatusInternalServerError {
		s.fail(t, fmt.Sprintf("GET %.120s: got 500 %s", target, body))
	}
	if s.answered[route.ID] == nil {
		s.answered[route.ID] = map[int]int{}
	}
	s.answered[route.ID][status]++
	var read any
	if err := json.Unmarshal(body, &read); err == nil && status == http.StatusOK {
		s.learn(read)
	}
	return status
}

// learn records the ids in an answer, in an order that depends on the answer alone.
func (s *apiSurface) learn(node any) {
	switch node := node.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(node)) {
			id, is := node[name].(string)
			isID := slices.Contains([]string{"daoId", "proposalKey", "topicKey", "voterIdentity"}, name)
			if is && isID && len(s.known[name]) < maxKnown && !slices.Contains(s.known[name], id) {
				s.known[name] = append(s.known[name], id)
			}
			s.learn(node[name])
		}
	case []any:
		for _, value := range node {
			s.learn(value)
		}
	}
}
