package api_test

import (
	"testing"

	"pnyx/cache"
	"pnyx/governance"
	"pnyx/governance/query"
	"pnyx/test/env"
)

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
