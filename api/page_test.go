package api_test

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"pnyx/api/routes"
	"pnyx/cache"
	"pnyx/governance"
	"pnyx/governance/query"
	"pnyx/test/env"
)

// page is what one answer of the DAO list says.
type page struct {
	ids  []string
	next string
	link string
}

// page reads a page of the DAO list.
func (t *node) page(path string) page {
	t.Helper()
	got := t.get(path)
	if got.status != http.StatusOK {
		t.Fatalf("GET %s: got %d %s, want 200", path, got.status, got.body)
	}
	var envelope success
	t.decode(got.body, &envelope)
	var rows []governance.DAOListItem
	t.decode(string(envelope.Data), &rows)
	read := page{ids: []string{}, link: got.header.Get("Link")}
	for _, row := range rows {
		read.ids = append(read.ids, row.DAOID)
	}
	if envelope.Meta.Page == nil {
		t.Fatalf("GET %s: got %s, want a page", path, got.body)
	}
	if envelope.Meta.Page.NextCursor != nil {
		read.next = *envelope.Meta.Page.NextCursor
	}
	if more := envelope.Meta.Page.HasMore; more != (read.next != "") || more != (read.link != "") {
		t.Errorf("GET %s: hasMore is %t beside cursor %q and link %q", path, more, read.next, read.link)
	}
	return read
}

// daos are rows with ids and nothing else.
func daos(ids ...string) []governance.DAOListItem {
	rows := make([]governance.DAOListItem, len(ids))
	for i, id := range ids {
		rows[i] = governance.DAOListItem{DAOID: id, CoverageStatus: governance.Complete}
	}
	return rows
}

func TestLinksAndTheirCursorsWalkTheList(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	n.writeDAOs(2, daos("a", "b", "c d", "d/e", "民主", "zz")...)
	want := []string{"a", "b", "c d", "d/e", "uniswap", "zz", "民主"}
	for limit := 1; limit <= len(want)+1; limit++ {
		var got []string
		for path := fmt.Sprintf("/v2/daos?coverageStatus=complete&limit=%d", limit); path != ""; {
			read := n.page(path)
			if got = append(got, read.ids...); len(got) > len(want) || read.next != "" && len(read.ids) != limit {
				t.Fatalf("GET %s: got %v, want pages of %d until all are listed", path, got, limit)
			}
			target, isNext := strings.CutSuffix(strings.TrimPrefix(read.link, "<"), `>; rel="next"`)
			if isNext != (read.next != "") || !strings.Contains(target, read.next) {
				t.Fatalf("GET %s: got the link %s, want it to be next, with the cursor %q", path, read.link, read.next)
			}
			path = target
		}
		env.WantSame(t, fmt.Sprintf("pages of %d", limit), want, got)
	}
}

func TestACursorSurvivesNewDAOs(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	n.writeDAOs(2, daos("a", "c", "e", "g")...)
	first := n.page("/v2/daos?limit=2&coverageStatus=complete")
	n.writeDAOs(3, daos("A", "b", "d", "f")...)
	second := n.page("/v2/daos?limit=2&coverageStatus=complete&cursor=" + first.next)
	// Even the row that the cursor stands on may go.
	writer := n.Store.NewWriter(4)
	writer.RemoveDAO(t.Context(), cache.View{}, "e")
	env.MustDo(t, writer.Flush(t.Context()))
	// The size of a page is no filter.
	third := n.page("/v2/daos?limit=9&coverageStatus=complete&cursor=" + second.next)
	for i, want := range [][]string{{"a", "c"}, {"d", "e"}, {"f", "g", "uniswap"}} {
		env.WantSame(t, fmt.Sprintf("page %d", i+1), want, []page{first, second, third}[i].ids)
	}
}

func TestAnAlteredCursorIsRefused(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	cursor := n.page("/v2/daos?limit=1").next
	altered := []string{
		cursor[1:], cursor[:len(cursor)-1], cursor + "A", cursor + "=", cursor + cursor, cursor[:8] + "\n" + cursor[8:], cursor + "\r\n",
		base64.RawURLEncoding.EncodeToString(make([]byte, 24)), base64.RawURLEncoding.EncodeToString(make([]byte, 100)), "A", "-", "ens.eth",
	}
	for i := range cursor {
		for _, instead := range "A_" {
			if rune(cursor[i]) != instead {
				altered = append(altered, cursor[:i]+string(instead)+cursor[i+1:])
			}
		}
	}
	for _, other := range altered {
		problems := n.wantProblems("/v2/daos?limit=1&cursor=" + url.QueryEscape(other))
		if len(problems) != 1 || problems[0].Parameter != "cursor" {
			t.Errorf("cursor %q: got problems %+v, want one with the cursor", other, problems)
		}
	}
	n.page("/v2/daos?limit=1&cursor=" + cursor) // the one that was given out still is one
}

func TestTheLinkHoldsOneCursorHoweverItWasSpelled(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	n.writeDAOs(2, daos("a", "b", "c")...)
	first := n.page("/v2/daos?limit=1")
	second := n.page("/v2/daos?limit=1&%63ursor=" + first.next)
	target := strings.TrimSuffix(strings.TrimPrefix(second.link, "<"), `>; rel="next"`)
	if got := n.page(target).ids; len(got) != 1 || got[0] != "c" {
		t.Errorf("GET %s: got %v, want c", target, got)
	}
}

func TestCursorsOfAnotherNodeWithTheSameKeyAreGood(t *testing.T) {
	t.Parallel()
	first := newNode(t)
	second := startNode(t, settings{redisURL: first.redisURL})
	cursor := first.page("/v2/daos?limit=1").next
	if got := second.page("/v2/daos?limit=1&cursor=" + cursor).ids; len(got) != 1 || got[0] != "uniswap" {
		t.Errorf("second page, of another node: got %v, want uniswap", got)
	}
}

// fillPages completes every fill that the node enqueues with one view, until the test ends.
func (t *node) fillPages(view cache.View) {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	var filling sync.WaitGroup
	filling.Go(func() {
		for ctx.Err() == nil {
			fills, err := t.Store.Fills().Dequeue(ctx, routes.PageKinds(), cache.Oldest, func(query.Kind) int { return 1 }, time.Second)
			if errors.Is(err, cache.ErrNoFill) || ctx.Err() != nil {
				continue
			}
			if err == nil {
				err = t.Store.Fills().Complete(ctx, []cache.CompletedFill{{Page: fills[0].Page, View: &view}})[0]
			}
			if err != nil && ctx.Err() == nil {
				t.Error(err)
				return
			}
		}
	})
	t.Cleanup(func() {
		stop()
		filling.Wait()
	})
}

// The worker's clock may be behind, or the page may take longer to make than it stays fresh.
func TestPageThatHasExpiredWhenItIsMadeIsAnswered(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	expired := governance.TimestampOf(time.Now().Add(-time.Minute))
	view := env.Must(cache.NewView(
		cache.View{DataAsOf: dataAsOf, Readiness: governance.Ready, FreshUntil: &expired}, []governance.EventRow{}))(t)
	n.fillPages(view)
	got := n.get("/v2/events?daoId=nobody&from=2026-01-01&to=2026-02-01")
	env.Want(t, http.StatusOK, got.status, got.body, "200 with the page that was made")
}

// writePage is writePageAt for the first revision.
func (t *node) writePage(q query.Page, rows any) {
	t.Helper()
	t.writePageAt(1, q, rows)
}

// writePageAt stores the page that a query selects as a worker does.
func (t *node) writePageAt(revision uint64, q query.Page, rows any) {
	t.Helper()
	page := env.Must(cache.NewView(cache.View{Revision: revision, DataAsOf: dataAsOf, Readiness: governance.Ready}, rows))(t)
	env.MustDo(t, t.Store.Fills().Complete(t.Context(), []cache.CompletedFill{{Page: cache.NewPageRequest(q), View: &page}})[0])
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
	env.WantSame(t, "GET "+path, append([]string{}, want...), got)
	return envelope
}

func firstTopics(order query.TopicOrder) query.Topics {
	return query.Topics{Order: order, Paging: firstPage[query.TopicPosition]()}
}

func TestTopicParametersSelectThePage(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	from := instant("2024-01-01")
	to := *from + 1
	for path, change := range map[string]func(*query.Topics){
		"":                            func(*query.Topics) {},
		"?sort=updatedDesc":           func(*query.Topics) {},
		"?sort=createdDesc":           func(q *query.Topics) { q.Order = query.TopicsByCreation },
		"?sort=repliesDesc&limit=100": func(q *query.Topics) { q.Order = query.TopicsByReplies },
		"?daoId=uniswap":              func(q *query.Topics) { q.DAOID = "uniswap" },
		"?provider=discourse":         func(q *query.Topics) { q.Provider = "discourse" },
		"?governanceRelated=true":     func(q *query.Topics) { q.Related = new(true) },
		"?governanceRelated=false":    func(q *query.Topics) { q.Related = new(false) },
		"?minReplies=7":               func(q *query.Topics) { q.MinReplies = 7 },
		"?minReplies=0":               func(*query.Topics) {},
		"?updatedFrom=2024-01-01T01:00:00%2B01:00": func(q *query.Topics) { q.UpdatedFrom = from },
		"?updatedTo=2024-01-01T00:00:00.001Z":      func(q *query.Topics) { q.UpdatedTo = &to },
		"?updatedFrom=2024-01-01&updatedTo=2024-01-01&daoId=b&minReplies=2147483647&sort=createdDesc": func(q *query.Topics) {
			q.Order, q.DAOID, q.UpdatedFrom, q.UpdatedTo, q.MinReplies = query.TopicsByCreation, "b", from, from, 2147483647
		},
	} {
		q := firstTopics(query.TopicsByUpdate)
		change(&q)
		title := string(cache.NewPageRequest(q).Key())
		n.writePage(q, titled(title))
		t.Run(path, func(t *testing.T) { n.with(t).wantTitles("/v2/forum-topics"+path, title) })
	}
}

// A page that was stored with a nil list has an empty one in the answer.
func TestAListWithoutMembersIsNoNull(t *testing.T) {
	t.Parallel()
	n, q := newNode(t), firstTopics(query.TopicsByUpdate)
	n.writePage(q, []governance.ForumTopic{{TopicKey: talkKey}})
	env.WantPart(t, `"tags":[]`, n.get("/v2/forum-topics").body, "no tags")
}
