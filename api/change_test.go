package api_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"testing"

	"pnyx/access"
	"pnyx/api"
	"pnyx/api/apierror"
	"pnyx/cache"
	"pnyx/governance"
	"pnyx/test/env"
)

// addChanges adds rows, each written as "kind key DAO".
func (t *node) addChanges(rows ...string) {
	t.Helper()
	var changes []governance.Change
	for _, row := range rows {
		change := governance.Change{ChangedAt: dataAsOf, Revision: "7"}
		env.Must(fmt.Sscan(row, &change.Kind, &change.Key, &change.DAOID))(t)
		changes = append(changes, change)
	}
	env.Must(env.AddChanges(t.Context(), t.Store, changes...))(t)
}

// changes returns the rows of a page, as addChanges takes them, and the page.
func (t *node) changes(path string) (rows []string, next string, more bool) {
	t.Helper()
	answer := t.get(path)
	var got success
	t.decode(answer.body, &got)
	var changes []governance.Change
	t.decode(string(got.Data), &changes)
	for _, change := range changes {
		rows = append(rows, fmt.Sprint(change.Kind, " ", change.Key, " ", change.DAOID))
	}
	if got.Meta.Page == nil || got.Meta.Page.NextCursor == nil {
		t.Fatalf("%s: got page %+v, want a cursor on every page", path, got.Meta.Page)
	}
	env.Want(t, got.Meta.Page.HasMore, answer.header.Get("Link") != "", path)
	return rows, url.QueryEscape(*got.Meta.Page.NextCursor), got.Meta.Page.HasMore
}

func TestChangesAreListedFromACursor(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	rows, now, more := n.changes("/v2/changes")
	if len(rows) > 0 || more {
		t.Errorf("at first: got %v, more %v, want a place to begin", rows, more)
	}
	n.addChanges("proposal a dao", "dao d dao", "proposal a dao", "event e other", "topic t dao")
	for name, test := range map[string]struct {
		path string
		want []string
		more bool
	}{
		"all, each key once":     {"/v2/changes?cursor=" + now, []string{"dao d dao", "proposal a dao", "event e other", "topic t dao"}, false},
		"a full page":            {"/v2/changes?limit=2&cursor=" + now, []string{"dao d dao", "proposal a dao"}, true},
		"a time that is ignored": {"/v2/changes?from=1999-01-01&wait=20&cursor=" + now, []string{"dao d dao", "proposal a dao", "event e other", "topic t dao"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rows, _, more := n.with(t).changes(test.path)
			if !slices.Equal(rows, test.want) || more != test.more {
				t.Errorf("got %q, more %v, want %q, %v", rows, more, test.want, test.more)
			}
		})
	}
}

func TestCursorOfChangesIsOfItsFilters(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	_, ofDAO, _ := n.changes("/v2/changes?daoId=other&kind=event,topic")
	n.addChanges("event f other", "event g dao", "proposal b other")
	rows, next, _ := n.changes("/v2/changes?daoId=other&kind=topic,event&cursor=" + ofDAO)
	if want := []string{"event f other"}; !slices.Equal(rows, want) {
		t.Errorf("filtered: got %q, want %q", rows, want)
	}
	if rows, _, _ := n.changes("/v2/changes?daoId=other&kind=topic,event&cursor=" + next); len(rows) > 0 {
		t.Errorf("after it: got %q, want none", rows)
	}
}

func TestPagesOfChangesJoinToAllOfThem(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	_, cursor, _ := n.changes("/v2/changes")
	var all, got []string
	for i := range 2500 { // more than one read returns
		all = append(all, fmt.Sprintf("proposal p%d dao%d", i, i%2))
	}
	n.addChanges(all...)
	for more := true; more; {
		var rows []string
		rows, cursor, more = n.changes("/v2/changes?limit=500&cursor=" + cursor)
		got = append(got, rows...)
	}
	env.WantSame(t, "rows", all, got)
}

func TestCursorOfChangesExpires(t *testing.T) {
	t.Parallel()
	for name, lose := range map[string]func(*node){
		"the warehouse was restored": func(n *node) {
			n.setPublished(cache.PublicationState{Revision: 9, LastFullRevision: 9, ChangesEpoch: 9, CursorKey: []byte(cursorKey)})
		},
		"rows after it are gone": func(n *node) {
			row := []cache.ChangeRow{{ID: cache.ChangeID{Time: 1 << 60}}}
			env.Must(n.Store.AppendChanges(n.Context(), nil, row))(n)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := newNode(t)
			_, cursor, _ := n.changes("/v2/changes")
			lose(n)
			env.Until(t, func() error {
				if got := n.get("/v2/changes?cursor=" + cursor); got.status != http.StatusGone {
					return fmt.Errorf("got %d %s, want 410", got.status, got.body)
				}
				return nil
			})
			n.wantFailure(n.get("/v2/changes?cursor="+cursor), http.StatusGone, apierror.CodeCursorExpired)
			n.wantFailure(n.get("/v2/changes?from=1999-01-01"), http.StatusGone, apierror.CodeCursorExpired)
			if _, now, _ := n.changes("/v2/changes"); now == cursor {
				t.Error("got the same cursor again, want one to begin from")
			}
		})
	}
}

func TestChangesDoNotBeginInTheFuture(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	if problems := n.wantProblems("/v2/changes?from=2999-01-01"); len(problems) != 1 || problems[0].Parameter != "from" {
		t.Errorf("got %+v, want one with from", problems)
	}
}

func TestRequestsWaitForChanges(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	_, cursor, _ := n.changes("/v2/changes?kind=proposal")
	paths := []string{"/v2/changes?wait=25", "/v2/changes?kind=proposal&wait=25&cursor=" + cursor}
	answers := make(chan []string, len(paths))
	for _, path := range paths {
		go func() {
			rows, _, _ := n.changes(path)
			answers <- rows
		}()
	}
	n.waitHeld(len(paths))
	// Where nodes are added by requests in flight, those that wait are none.
	env.Until(t, func() error {
		if got := n.counts("pnyx_http_requests_in_flight")[""]; got != 0 {
			return fmt.Errorf("got %v requests in flight, want none", got)
		}
		return nil
	})
	n.addChanges("proposal a dao")
	for range paths {
		if rows := <-answers; !slices.Equal(rows, []string{"proposal a dao"}) {
			t.Errorf("got %q, want what came meanwhile", rows)
		}
	}
}

// waitHeld waits until a number of requests wait for changes.
func (t *node) waitHeld(want int) {
	t.Helper()
	env.Until(t, func() error {
		if got := t.counts("pnyx_changes_waiting")[""]; got != float64(want) {
			return fmt.Errorf("got %v waiting, want %d", got, want)
		}
		return nil
	})
}

func TestWaitingRequestsAreAnsweredWhenTheNodeDrains(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	answered := make(chan []string, 1)
	go func() {
		rows, _, _ := n.changes("/v2/changes?wait=25")
		answered <- rows
	}()
	n.waitHeld(1)
	n.API.Drain()
	if rows := <-answered; len(rows) > 0 {
		t.Errorf("got %q, want an answer without rows", rows)
	}
}

func TestWaitEndsBeforeTheEdgeGivesUp(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	env.Until(t, func() error { // the node's first look at the stream wakes all who wait
		before := n.counts("pnyx_changes_woken_total")[""]
		got := n.ask(http.MethodGet, "/v2/changes?wait=25", http.Header{api.HeaderTimeout: {"1"}})
		if n.waitHeld(0); got.status != http.StatusOK || n.counts("pnyx_changes_woken_total")[""] != before {
			return fmt.Errorf("got %d %s, want a page without rows, before there are any", got.status, got.body)
		}
		return nil
	})
}

func TestPagesWithoutChangesCostNothing(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	token := n.admitsTwiceAMonth()
	header := http.Header{http.CanonicalHeaderKey(access.HeaderToken): {token}}
	var first success
	for range 4 {
		got := n.askAs(http.MethodGet, "/v2/changes", header)
		if got.status != http.StatusOK {
			t.Fatalf("got %d %s, want 200", got.status, got.body)
		}
		n.decode(got.body, &first)
		if got.header.Get("Cache-Control") != "private, no-store" || got.header.Get("ETag") != "" {
			t.Errorf("got %v, want what no cache keeps", got.header)
		}
	}
	n.addChanges("proposal a dao", "proposal b dao")
	path := "/v2/changes?limit=1&cursor=" + url.QueryEscape(*first.Meta.Page.NextCursor)
	var refused error
	for range 2 {
		if got := n.askAs(http.MethodGet, path, header); got.status != http.StatusOK || got.header.Get("ETag") == "" {
			refused = errors.Join(refused, fmt.Errorf("got %d %s, want a page that does not change", got.status, got.body))
		}
	}
	if refused != nil {
		t.Error(refused)
	}
	env.Want(t, http.StatusTooManyRequests, n.askAs(http.MethodGet, path, header).status, "third page with rows")
}
