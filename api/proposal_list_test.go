package api_test

import (
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pnyx/cache"
	"pnyx/governance"
)

// writePages publishes pages as a worker makes them, for requests that must be
// exactly these.
func (t *node) writePages(payload any, requests ...cache.PageRequest) {
	t.Helper()
	writer := t.store.NewWriter(1)
	for _, request := range requests {
		view, err := cache.NewView(cache.View{DataAsOf: dataAsOf, Readiness: governance.Ready}, payload)
		if err != nil {
			t.Fatal(err)
		}
		if err := writer.SetPage(t.Context(), request, view); err != nil {
			t.Fatal(err)
		}
	}
	if err := writer.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// listedRows are rows as they are kept: three proposals by some order.
func listedRows() []cache.ProposalRow {
	title := "Deploy \"v4\""
	rows := make([]cache.ProposalRow, 3)
	for i, id := range []string{"0xc", "0xb", "0xa"} {
		identity := governance.Identity{DAOID: "uniswap", Provider: governance.Snapshot, ExternalID: id}
		rows[i] = cache.ProposalRow{
			Item: governance.ProposalListItem{
				ProposalKey: identity.ProposalKey(), Identity: identity, LifecycleStatus: governance.Closed,
				Outcome: governance.Passed, CoverageStatus: governance.Complete,
			},
			Position: cache.Position{Number: 2, At: ago(60 * i), Key: string(identity.ProposalKey())},
		}
	}
	rows[0].Item.Title, rows[0].Item.EndAt = &title, ago(60)
	return rows
}

func (t *node) listedIDs(path string) (ids []string) {
	t.Helper()
	var rows []governance.ProposalListItem
	t.decode(string(t.wantSuccess(path).Data), &rows)
	for _, row := range rows {
		ids = append(ids, row.Identity.ExternalID)
	}
	return ids
}

func TestProposalListsAreAskedForByTheirFilters(t *testing.T) {
	t.Parallel()
	at := func(text string) *governance.Timestamp {
		stamp, err := governance.ParseTimestamp(text)
		if err != nil {
			t.Fatal(err)
		}
		return &stamp
	}
	for query, want := range map[string]cache.PageRequest{
		"":                                       {Order: "updatedDesc"},
		"timeField=endAt&limit=100":              {Order: "updatedDesc"}, // without a window no field matters
		"daoId=uniswap&provider=snapshot":        {Order: "updatedDesc", Filter: cache.Filter{DAOID: "uniswap", Provider: "snapshot"}},
		"proposerId=0XAB&sort=endingSoon":        {Order: "endingSoon", Filter: cache.Filter{ProposerID: "0xab"}},
		"lifecycleStatus=pending,active":         {Order: "updatedDesc", Filter: cache.Filter{Lifecycles: []string{"active", "pending"}}},
		"outcome=failed,failed&sort=createdDesc": {Order: "createdDesc", Filter: cache.Filter{Outcomes: []string{"failed"}}},
		"from=2026-01-01": {Order: "updatedDesc", Filter: cache.Filter{
			TimeField: "updatedAt", From: at("2026-01-01"), To: at("2027-01-01"),
		}},
		"to=2026-01-01&timeField=startAt": {Order: "updatedDesc", Filter: cache.Filter{
			TimeField: "startAt", From: at("2025-01-01"), To: at("2026-01-01"),
		}},
		"from=2026-01-01&to=2026-01-01T01:00:00%2B01:00": {Order: "updatedDesc", Filter: cache.Filter{
			TimeField: "updatedAt", From: at("2026-01-01"), To: at("2026-01-01"),
		}},
	} {
		n := newNode(t)
		want.Kind, want.Limit = cache.ProposalPage, cache.ShortPage
		n.writePages(listedRows(), want)
		if diff := cmp.Diff([]string{"0xc", "0xb", "0xa"}, n.listedIDs("/v2/proposals?"+query)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", query, diff)
		}
	}
}

func TestACursorOfTheProposalListLeadsBehindTheLastRow(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	rows := listedRows()
	first := cache.PageRequest{Kind: cache.ProposalPage, Order: "updatedDesc", Limit: cache.ShortPage}
	second := first
	second.After = &rows[1].Position
	n.writePages(rows, first)
	n.writePages(rows[2:], second)
	got := n.wantSuccess("/v2/proposals?limit=2")
	if got.Meta.Page == nil || !got.Meta.Page.HasMore || got.Meta.Page.NextCursor == nil {
		t.Fatalf("got page %+v, want another", got.Meta.Page)
	}
	if diff := cmp.Diff([]string{"0xa"}, n.listedIDs("/v2/proposals?limit=2&cursor="+*got.Meta.Page.NextCursor)); diff != "" {
		t.Errorf("second page (-want +got):\n%s", diff)
	}
}

func TestAnEmptyProposalListIsAnArray(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	n.writePages([]cache.ProposalRow{}, cache.PageRequest{
		Kind: cache.ProposalPage, Order: "updatedDesc", Limit: cache.ShortPage, Filter: cache.Filter{DAOID: "nobody"},
	})
	if got := string(n.wantSuccess("/v2/proposals?daoId=nobody").Data); got != "[]" {
		t.Errorf("got %s, want []", got)
	}
}

func TestWrongParametersOfProposalListsAreRefused(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	for query, parameter := range map[string]string{
		"from=2025-01-01&to=2026-01-02":  "to", // 366 days
		"from=2026-01-02&to=2026-01-01":  "from",
		"lifecycleStatus=active,running": "lifecycleStatus",
		"outcome=passed,":                "outcome",
		"timeField=votedAt":              "timeField",
		"sort=repliesDesc":               "sort",
		"limit=101":                      "limit",
		"limit=0":                        "limit",
		"includeVotes=true":              "includeVotes",
		"provider=":                      "provider",
		"cursor=AAAA":                    "cursor",
	} {
		problems := n.wantProblems("/v2/proposals?" + query)
		if len(problems) != 1 || problems[0].Parameter != parameter {
			t.Errorf("%s: got %+v, want one problem with %s", query, problems, parameter)
		}
	}
}

func TestResolveAsksForTheOneSpellingOfWhatIsGiven(t *testing.T) {
	t.Parallel()
	title := "Deploy"
	identity := governance.Identity{DAOID: "uniswap", Provider: governance.Tally, ExternalID: "93"}
	candidates := []governance.ProposalCandidate{
		{ProposalKey: identity.ProposalKey(), Identity: identity, Title: &title, Match: governance.Match{Type: governance.MatchURL, MatchedFields: []string{"sourceUrl"}}},
		{ProposalKey: unknownKey, Match: governance.Match{Type: governance.MatchURL, MatchedFields: []string{"discussionUrl"}}},
	}
	for query, filter := range map[string]cache.Filter{
		"url=" + url.QueryEscape("https://WWW.tally.xyz/gov/uniswap/proposal/93?utm_source=x"): {URL: "tally.xyz/gov/uniswap/proposal/93"},
		"title=%20DEPLOY%20%20v4":                   {Title: "deploy v4"},
		"externalId=0XAB&daoId=d&provider=snapshot": {ExternalID: "0xab", DAOID: "d", Provider: "snapshot"},
	} {
		n := newNode(t)
		n.writePages(candidates, cache.PageRequest{Kind: cache.ResolvePage, Limit: cache.MaxCandidates, Filter: filter})
		for limit, want := range map[string]int{"": 2, "&limit=1": 1} {
			got := n.wantSuccess("/v2/proposals/resolve?" + query + limit)
			var data governance.Resolution
			n.decode(string(got.Data), &data)
			if diff := cmp.Diff(candidates[:want], data.Candidates); diff != "" || got.Meta.Page != nil {
				t.Errorf("%s, page %v (-want +got):\n%s", query+limit, got.Meta.Page, diff)
			}
		}
	}
	n := newNode(t)
	n.writePages([]governance.ProposalCandidate{}, cache.PageRequest{
		Kind: cache.ResolvePage, Limit: cache.MaxCandidates, Filter: cache.Filter{Title: "nothing"},
	})
	if got := string(n.wantSuccess("/v2/proposals/resolve?title=nothing").Data); got != `{"candidates":[]}` {
		t.Errorf("got %s, want an empty array", got)
	}
}

func TestResolveNeedsExactlyOneQuestion(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	for _, query := range []string{"", "daoId=uniswap", "url=a&title=b", "title=b&externalId=c", "url=a&title=b&externalId=c"} {
		problems := n.wantProblems("/v2/proposals/resolve?" + query)
		for _, name := range []string{"url", "title", "externalId"} {
			if len(problems) != 1 || !strings.Contains(problems[0].Parameter, name) {
				t.Errorf("%s: got %+v, want one problem that names %s", query, problems, name)
			}
		}
	}
	if problems := n.wantProblems("/v2/proposals/resolve?url=a&limit=21"); problems[0].Parameter != "limit" {
		t.Errorf("got %+v, want a problem with limit", problems)
	}
}
