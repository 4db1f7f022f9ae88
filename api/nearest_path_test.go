package api

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"pnyx/api/apierror"
)

func TestParametersAreUnderstoodByMeaning(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ route, name, given, fix string }{
		{"proposals.list", "status", "active", "use lifecycleStatus=active instead"},
		{"proposals.list", "State", "open", "use lifecycleStatus=active instead"},
		{"proposals.list", "status", "nonsense", "use lifecycleStatus instead, with "},
		{"proposals.list", "space", "uniswap", "use daoId=uniswap instead"},
		{"proposals.list", "pageSize", "50", "use limit=50 instead"},
		{"proposals.list", "pageSize", "5000", "use limit instead, with "},
		{"proposals.list", "offset", "50", "use cursor instead"},
		{"proposals.list", "search", "treasury", "use q=treasury instead"},
		{"proposals.list", "orderBy", "newest", "use sort=createdDesc instead"},
		{"proposals.list", "since", "2026-01-01", "use from=2026-01-01 instead"},
		{"proposals.list", "status", "active\r\n", "use lifecycleStatus instead"},
		{"events.list", "type", "proposal_created", "use eventType=proposal_created instead"},
		{"signals.list", "type", "close_race", "use signalType=close_race instead"},
		{"proposals.votes", "sort", "time", "use order=time instead"},
		{"forum-topics.list", "since", "2026-01-01", "use updatedFrom=2026-01-01 instead"},
		{"daos.list", "page", "2", "use cursor instead"},
		{"daos.list", "wholly_unknown", "2", "leave it out"},
	} {
		route := routeNamed(t, test.route)
		if got := route.checkQuery(test.name, []string{test.given}); got == nil || !strings.HasPrefix(got.Fix, test.fix) {
			t.Errorf("%s with %s=%q: got %+v, want the fix %q", test.route, test.name, test.given, got, test.fix)
		}
	}
}

// TestEveryPathMeantExists holds every row of the table against the routes.
func TestEveryPathMeantExists(t *testing.T) {
	t.Parallel()
	for _, meant := range meantPaths {
		path, query, _ := strings.Cut(meant[1], "?")
		name, _, _ := strings.Cut(query, "=")
		found := slices.ContainsFunc(Routes(), func(r Route) bool {
			return r.Path == path && (name == "" || slices.Contains(r.queryNames(), name))
		})
		if !found || slices.ContainsFunc(Routes(), func(r Route) bool { return r.Path == meant[0] }) {
			t.Errorf("%s means %s: want one that is no route, and one that is", meant[0], meant[1])
		}
	}
}

func TestPathsAreUnderstoodByMeaning(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{
		"/v2/daos/uniswap/proposals":     "/v2/proposals?daoId=uniswap",
		"/v2/DAOs/a%20%26b/proposals/":   "/v2/proposals?daoId=a+%26b",
		"/v2/daos/uniswap/topics":        "/v2/forum-topics?daoId=uniswap",
		"/v2/proposals/p1_x/results":     "/v2/proposals/p1_x/votes/summary",
		"/v2/proposals/p1_x/ballots":     "/v2/proposals/p1_x/votes",
		"/v2/search":                     "/v2/proposals?q=",
		"/v2/proposal":                   "/v2/proposals",
		"/v2/nothing/that/anybody/means": "",
	} {
		err := unknownPath(path)
		details, is := err.Details.(apierror.PathDetails)
		if !is || err.Status != http.StatusNotFound || details.Nearest != want {
			t.Errorf("%s: got %+v, want %q", path, err.Details, want)
		}
	}
}

// routeNamed returns the route with an id.
func routeNamed(t *testing.T, id string) *Route {
	t.Helper()
	all := map[string]*Route{}
	for _, route := range Routes() {
		all[route.ID] = &route
	}
	if all[id] == nil {
		t.Fatalf("no route %s among %v", id, slices.Sorted(maps.Keys(all)))
	}
	return all[id]
}
