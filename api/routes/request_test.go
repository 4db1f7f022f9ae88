package routes

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"pnyx/api/param"
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
		{"daos.export", "format", "parquet", "leave it out here: format belongs to /v2/daos/:daoId/export/:part, and /v2/daos/:daoId/export lists the parts"},
		{"proposals.export", "format", "csv", "leave it out here: format belongs to /v2/proposals/:proposalKey/votes/export/:revision/:part, and "},
		{"events.list", "format", "csv", "leave it out here: format belongs to /v2/daos/:daoId/export/:part, and "},
		{"daos.list", "daoId", "uniswap", "leave it out here, and use /v2/daos/:daoId"},
		{"daos.detail", "daoId", "uniswap", "leave it out: the path has it"},
		{"daos.detail", "offset", "50", "leave it out: this answer has no pages"},
		{"daos.list", "since", "2026-01-01", "leave it out here, and use /v2/daos/:daoId/export"},
		{"events.list", "status", "active", "leave it out here, and use /v2/proposals?lifecycleStatus="},
		{"proposals.detail", "includeVotes", "true", "leave it out here, and use /v2/proposals/:proposalKey/votes"},
	} {
		route := routeNamed(t, test.route)
		if got := route.checkQuery(test.name, []string{test.given}); got == nil || !strings.HasPrefix(got.Fix, test.fix) {
			t.Errorf("%s with %s=%q: got %+v, want the fix %q", test.route, test.name, test.given, got, test.fix)
		}
	}
}

// routeNamed returns the route with an id.
func routeNamed(t *testing.T, id string) *Route {
	t.Helper()
	all := map[string]*Route{}
	for _, route := range All() {
		all[route.ID] = &route
	}
	if all[id] == nil {
		t.Fatalf("no route %s among %v", id, slices.Sorted(maps.Keys(all)))
	}
	return all[id]
}

// A purge finds answers by their tags.
func TestAnswersAboutASubjectHaveItsTag(t *testing.T) {
	t.Parallel()
	for _, route := range All() {
		if !strings.Contains(route.Path, ":") {
			continue
		}
		given := map[string]string{}
		for _, one := range route.Params {
			if one.In == param.InPath || one.Required {
				given[one.Name] = one.Example
			}
		}
		request, err := route.ParseTexts(given, nil, 0)
		if err != nil {
			t.Errorf("%s with %v: %v", route.ID, given, err)
		} else if len(request.Tags()) == 0 {
			t.Errorf("%s has no tag for its subject", route.ID)
		}
	}
}
