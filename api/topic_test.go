package api_test

import (
	"net/url"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pnyx/cache"
	"pnyx/governance"
)

// writePage publishes the page that a request asks for.
func (t *node) writePage(request cache.PageRequest, rows any) {
	t.Helper()
	page, err := cache.NewView(cache.View{DataAsOf: dataAsOf, Readiness: governance.Ready}, rows)
	if err != nil {
		t.Fatal(err)
	}
	writer := t.store.NewWriter(1)
	if err := writer.SetPage(t.Context(), request, page); err != nil {
		t.Fatal(err)
	}
	if err := writer.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// titled are topics with a title and all that orders go by.
func titled(titles ...string) []governance.ForumTopic {
	rows := make([]governance.ForumTopic, len(titles))
	for i, title := range titles {
		rows[i] = governance.ForumTopic{
			TopicKey: governance.TopicKey("t1_" + title), Title: title, Tags: []string{},
			Replies: governance.CountOf(uint64(9 - i)), UpdatedAt: ago(i), CreatedAt: ago(10 * (i + 1)),
		}
	}
	return rows
}

func (t *node) wantTitles(path string, want ...string) success {
	t.Helper()
	envelope := t.wantSuccess(path)
	var rows []governance.ForumTopic
	t.decode(string(envelope.Data), &rows)
	got := []string{}
	for _, row := range rows {
		got = append(got, row.Title)
	}
	if diff := cmp.Diff(append([]string{}, want...), got); diff != "" {
		t.Errorf("GET %s (-want +got):\n%s", path, diff)
	}
	return envelope
}

func TestTopicFiltersAskForTheirOwnPage(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	from, err := governance.ParseTimestamp("2024-01-01")
	if err != nil {
		t.Fatal(err)
	}
	to := from + 1
	for path, r := range map[string]cache.PageRequest{
		"":                            {Order: governance.SortUpdated},
		"?sort=updatedDesc":           {Order: governance.SortUpdated},
		"?sort=createdDesc":           {Order: governance.SortCreated},
		"?sort=repliesDesc&limit=100": {Order: governance.SortReplies},
		"?daoId=uniswap":              {Order: governance.SortUpdated, Filter: cache.Filter{DAOID: "uniswap"}},
		"?provider=discourse":         {Order: governance.SortUpdated, Filter: cache.Filter{Provider: "discourse"}},
		"?governanceRelated=true":     {Order: governance.SortUpdated, Filter: cache.Filter{Related: new(true)}},
		"?governanceRelated=false":    {Order: governance.SortUpdated, Filter: cache.Filter{Related: new(false)}},
		"?minReplies=7":               {Order: governance.SortUpdated, Filter: cache.Filter{Least: 7}},
		"?minReplies=0":               {Order: governance.SortUpdated},
		"?updatedFrom=2024-01-01T01:00:00%2B01:00": {Order: governance.SortUpdated, Filter: cache.Filter{From: &from}},
		"?updatedTo=2024-01-01T00:00:00.001Z":      {Order: governance.SortUpdated, Filter: cache.Filter{To: &to}},
		"?updatedFrom=2024-01-01&updatedTo=2024-01-01&daoId=b&minReplies=2147483647&sort=createdDesc": {
			Order: governance.SortCreated, Filter: cache.Filter{DAOID: "b", From: &from, To: &from, Least: 2147483647},
		},
	} {
		r.Kind, r.Limit = cache.TopicPage, cache.ShortPage
		title := string(r.Key())
		n.writePage(r, titled(title))
		n.wantTitles("/v2/forum-topics"+path, title)
	}
}

func TestTopicCursorsGoOnByTheirOrder(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	rows := titled("a", "b", "c")
	rows[2].UpdatedAt = nil
	for _, c := range []struct {
		order string
		after cache.Position
	}{
		{governance.SortUpdated, cache.Position{At: ago(1), Key: "t1_b"}},
		{governance.SortCreated, cache.Position{At: ago(20), Key: "t1_b"}},
		{governance.SortReplies, cache.Position{Number: 8, Key: "t1_b"}},
	} {
		r := cache.PageRequest{Kind: cache.TopicPage, Order: c.order, Limit: cache.ShortPage}
		n.writePage(r, rows)
		path := "/v2/forum-topics?limit=2&sort=" + c.order
		first := n.wantTitles(path, "a", "b")
		if !first.Meta.Page.HasMore || first.Meta.Page.NextCursor == nil {
			t.Fatalf("%s: got %+v, want more", path, first.Meta.Page)
		}
		r.After = &c.after
		n.writePage(r, rows[2:])
		next := path + "&cursor=" + url.QueryEscape(*first.Meta.Page.NextCursor)
		if last := n.wantTitles(next, "c"); last.Meta.Page.HasMore {
			t.Errorf("%s: got %+v, want no more", next, last.Meta.Page)
		}
		if problems := n.wantProblems(next + "&minReplies=1"); len(problems) != 1 || problems[0].Parameter != "cursor" {
			t.Errorf("the cursor with another filter: got %+v, want it refused", problems)
		}
	}
}

func TestAnEmptyTopicListIsAList(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	n.writePage(cache.PageRequest{
		Kind: cache.TopicPage, Order: governance.SortUpdated, Limit: cache.ShortPage, Filter: cache.Filter{DAOID: "nobody"},
	}, titled())
	if got := n.wantTitles("/v2/forum-topics?daoId=nobody"); string(got.Data) != "[]" || got.Meta.Page.HasMore || got.Meta.Page.Limit != 25 {
		t.Errorf("got %s and %+v, want an empty list", got.Data, got.Meta.Page)
	}
}

func TestWrongTopicParametersAreRefused(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	for query, parameter := range map[string]string{
		"updatedFrom=2024-01-02&updatedTo=2024-01-01": "updatedFrom", "updatedFrom=yesterday": "updatedFrom", "updatedTo=2024-13-01": "updatedTo",
		"minReplies=-1": "minReplies", "minReplies=1.5": "minReplies", "minReplies=2147483648": "minReplies", "sort=updatedAsc": "sort", "limit=0": "limit",
		"limit=101": "limit", "governanceRelated=1": "governanceRelated", "daoId=": "daoId", "from=2024-01-01": "from", "sort=createdDesc&sort=createdDesc": "sort",
		"provider=": "provider", "cursor=abc": "cursor",
	} {
		problems := n.wantProblems("/v2/forum-topics?" + query)
		if len(problems) != 1 || problems[0].Parameter != parameter {
			t.Errorf("%s: got %+v, want one problem with %s", query, problems, parameter)
		}
	}
}
