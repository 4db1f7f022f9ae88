package api

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"pnyx/api/apierror"
	"pnyx/api/param"
	"pnyx/api/routes"
)

// TestEveryPathMeantExists holds every row of the table against the routes.
func TestEveryPathMeantExists(t *testing.T) {
	t.Parallel()
	for _, meant := range meantPaths {
		path, query, _ := strings.Cut(meant[1], "?")
		name, _, _ := strings.Cut(query, "=")
		found := slices.ContainsFunc(routes.All(), func(r routes.Route) bool {
			return r.Path == path && (name == "" || slices.ContainsFunc(r.Params, func(p param.Param) bool { return p.Name == name && p.In == param.InQuery }))
		})
		if !found || slices.ContainsFunc(routes.All(), func(r routes.Route) bool { return r.Path == meant[0] }) {
			t.Errorf("%s means %s: want one that is no route, and one that is", meant[0], meant[1])
		}
	}
}

func TestPathsAreUnderstoodByMeaning(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{
		"/v2/daos/uniswap/proposals":     "/v2/proposals?daoId=uniswap",
		"/v2/DAOs/a%20%26b/proposals/":   "/v2/proposals?daoId=a%20%26b",
		"/v2/daos/uniswap/topics":        "/v2/forum-topics?daoId=uniswap",
		"/v2/proposals/p1_x/results":     "/v2/proposals/p1_x/votes/summary",
		"/v2/proposals/p1_x/ballots":     "/v2/proposals/p1_x/votes",
		"/v2/search":                     "/v2/proposals?q=",
		"/v2/proposal":                   "/v2/proposals",
		"/v2/daos/uniswap/":              "/v2/daos/uniswap",
		"/v2/dao/a%20b/voter":            "/v2/daos/a%20b/voters",
		"/v2/dao/%zz/voter":              "/v2/daos/:daoId/voters",
		"/v2/voters//votes":              "",
		"/v2/daos//proposals":            "",
		"/v2/nothing/that/anybody/means": "",
	} {
		err := unknownPath(path)
		details, is := err.Details.(apierror.PathDetails)
		if !is || err.Status != http.StatusNotFound || details.Nearest != want {
			t.Errorf("%s: got %+v, want %q", path, err.Details, want)
		}
	}
}
