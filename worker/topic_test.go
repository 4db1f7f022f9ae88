package worker_test

import (
	"fmt"
	"slices"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"pnyx/cache"
	"pnyx/governance"
	"pnyx/governance/query"
	"pnyx/test/env"
	"pnyx/warehouse/counts"
	"pnyx/warehouse/pages"
	"pnyx/warehouse/record"
	"pnyx/warehouse/records"
)

func topic(host, id, title, post string) *record.Topic {
	return &record.Topic{Host: host, ExternalID: id, Title: title, Slug: "slug", BodyHTML: post, Posts: 1, Visible: true}
}

func forumDAO(id string, hosts ...string) *record.DAO {
	dao := &record.DAO{ID: id, Name: id}
	for _, host := range hosts {
		dao.Sources = append(dao.Sources, record.SourceRef{Provider: governance.Discourse, ID: host})
	}
	return dao
}

func topicKey(dao, id string) governance.TopicKey {
	return governance.Identity{DAOID: dao, Provider: governance.Discourse, ExternalID: id}.TopicKey()
}

func (h *harness) topic(key governance.TopicKey) (governance.ForumTopicDetail, cache.View, error) {
	return read[governance.ForumTopicDetail](h, cache.TopicDetailKey(key))
}

func (h *harness) waitForTopic(key governance.TopicKey, has func(governance.ForumTopicDetail) bool) cache.View {
	h.t.Helper()
	_, view := waitFor(h, cache.TopicDetailKey(key), has)
	return view
}

func anyTopic(governance.ForumTopicDetail) bool { return true }

// waitForTopicList waits until the topic list of a DAO, or of all DAOs for "", has these keys.
func (h *harness) waitForTopicList(daoID string, want ...governance.TopicKey) {
	h.t.Helper()
	env.Until(h.t, func() error {
		rows, err := pages.ListTopics(h.t.Context(), h.warehouse, query.Topics{
			DAOID: daoID, Order: query.TopicsByReplies, Paging: query.Paging[query.TopicPosition]{Limit: 100},
		})
		if err != nil {
			return err
		}
		got := []governance.TopicKey{}
		for _, row := range rows {
			got = append(got, row.TopicKey)
		}
		slices.Sort(got)
		if diff := cmp.Diff(append([]governance.TopicKey{}, slices.Sorted(slices.Values(want))...), got); diff != "" {
			return fmt.Errorf("list of %q (-want +got):\n%s", daoID, diff)
		}
		return nil
	})
}

func (h *harness) topicVersion(daoID string) uint64 {
	return h.version(query.Topics{DAOID: daoID}.Scope())
}

func (h *harness) waitForTopicVersion(daoID string, past uint64) {
	h.t.Helper()
	env.Until(h.t, func() error {
		if version := h.topicVersion(daoID); version <= past {
			return fmt.Errorf("got version %d of the list of %q, want one after %d", version, daoID, past)
		}
		return nil
	})
}

func TestTopicDetailContainsComputedFields(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	created, last, people := governance.Timestamp(1000), governance.Timestamp(2000), uint64(4)
	one := topic("forum.example", "7", "Election of the council", "<p>Who runs? <b>Everybody.</b></p>")
	one.CategoryID, one.Tags, one.Author, one.Posts, one.Likes, one.Views = "3", []string{"a", "b"}, "ana", 12, 5, 99
	one.Participants, one.CreatedAt, one.UpdatedAt, one.LastPostAt = &people, &created, &last, &last
	little := topic("forum.example", "8", "Hello", "")
	little.Posts, little.Slug = 0, ""
	h.append(forumDAO("dao", "forum.example"), &record.Category{Host: "forum.example", ID: "3", Name: "Elections"}, one, little)
	h.startLeader(h.metrics)

	h.waitForTopic(topicKey("dao", "7"), anyTopic)
	got, _, err := h.topic(topicKey("dao", "7"))
	if err != nil {
		t.Fatal(err)
	}
	text, author, category, participants := "Who runs? Everybody.", "ana", "Elections", governance.Decimal("4")
	want := governance.ForumTopicDetail{
		ForumTopic: governance.ForumTopic{
			TopicKey: topicKey("dao", "7"), Identity: governance.Identity{DAOID: "dao", Provider: governance.Discourse, ExternalID: "7"},
			Title: "Election of the council", Summary: &text, URL: "https://forum.example/t/slug/7", Author: &author, Category: &category,
			Tags: []string{"a", "b"}, RelevanceScore: 90, Replies: "11", Posts: "12", Likes: "5", Views: "99", CreatedAt: &created, UpdatedAt: &last,
		},
		BodyText: &text, Participants: &participants, LastPostAt: &last, RelatedProposals: []governance.RelatedProposal{},
	}
	env.WantSame(t, "detail", want, got)
	h.waitForTopic(topicKey("dao", "8"), func(d governance.ForumTopicDetail) bool {
		return d.Replies == "0" && d.Posts == "0" && d.Participants == nil && d.BodyText == nil && d.Summary == nil &&
			d.Tags != nil && d.URL == "https://forum.example/t/8" && d.LastPostAt == nil
	})
	h.waitForTopicList("dao", topicKey("dao", "7"), topicKey("dao", "8"))
	h.waitForTopicVersion("dao", 0)
	h.waitForTopicVersion("", 0)
}

func TestUnchangedTopicsKeepTheirRevision(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.append(topic("a.example", "1", "one", ""), topic("a.example", "2", "two", ""), topic("b.example", "1", "other", ""))
	h.startLeader(h.metrics)
	before := h.waitForTopic(topicKey("a.example", "1"), anyTopic)
	untouched := h.waitForTopic(topicKey("a.example", "2"), anyTopic)
	h.waitForTopic(topicKey("b.example", "1"), anyTopic)
	h.waitForTopicVersion("b.example", 0)
	versions := [3]uint64{h.topicVersion("a.example"), h.topicVersion("b.example"), h.topicVersion("")}

	changed := topic("a.example", "1", "one", "<p>Edited.")
	h.append(changed)
	after := h.waitForTopic(topicKey("a.example", "1"), func(d governance.ForumTopicDetail) bool { return d.BodyText != nil })
	if after.Revision <= before.Revision {
		t.Errorf("got revision %d after %d, want a later one", after.Revision, before.Revision)
	}
	h.waitForTopicVersion("a.example", versions[0])
	h.waitForTopicVersion("", versions[2])
	if _, view, err := h.topic(topicKey("a.example", "2")); err != nil || view.Revision != untouched.Revision {
		t.Errorf("got revision %d (%v) of the other topic, want %d as before", view.Revision, err, untouched.Revision)
	}
	env.Want(t, versions[1], h.topicVersion("b.example"), "version of the other forum")

	// A renamed category changes its topics.
	categorized := topic("a.example", "2", "two", "")
	categorized.CategoryID = "5"
	h.append(categorized, &record.Category{Host: "a.example", ID: "5", Name: "Grants"})
	h.waitForTopic(topicKey("a.example", "2"), func(d governance.ForumTopicDetail) bool { return d.Category != nil && *d.Category == "Grants" })
	h.append(&record.Category{Host: "a.example", ID: "5", Name: "Missions"})
	h.waitForTopic(topicKey("a.example", "2"), func(d governance.ForumTopicDetail) bool { return *d.Category == "Missions" })

	// A hidden one is gone until it shows again.
	other := topicKey("b.example", "1")
	h.waitForTopicList("", topicKey("a.example", "1"), topicKey("a.example", "2"), other)
	hidden := topic("a.example", "1", "one", "")
	hidden.Visible = false
	h.append(hidden)
	h.waitForNone(cache.TopicDetailKey(topicKey("a.example", "1")))
	h.waitForTopicList("", topicKey("a.example", "2"), other)
	h.append(topic("a.example", "1", "one again", ""))
	h.waitForTopic(topicKey("a.example", "1"), anyTopic)
	h.waitForTopicList("", topicKey("a.example", "1"), topicKey("a.example", "2"), other)
}

func TestTopicsMoveWithAClaimedForum(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.append(topic("a.example", "1", "one", ""))
	h.startLeader(h.metrics)
	h.waitForTopic(topicKey("a.example", "1"), anyTopic)
	h.waitForTopicVersion("a.example", 0)
	former := h.topicVersion("a.example")

	h.append(forumDAO("dao", "a.example"))
	h.waitForTopic(topicKey("dao", "1"), anyTopic)
	h.waitForNone(cache.TopicDetailKey(topicKey("a.example", "1")))
	h.waitForTopicList("dao", topicKey("dao", "1"))
	h.waitForTopicList("a.example")
	h.waitForTopicVersion("a.example", former)

	// A forum that no DAO claims any more is a DAO by itself again.
	h.append(forumDAO("dao", "b.example"), topic("b.example", "1", "another one", ""))
	h.waitForTopic(topicKey("dao", "1"), func(d governance.ForumTopicDetail) bool { return d.Title == "another one" })
	h.waitForTopic(topicKey("a.example", "1"), func(d governance.ForumTopicDetail) bool { return d.Title == "one" })
	h.waitForTopicList("dao", topicKey("dao", "1"))
	h.waitForTopicList("a.example", topicKey("a.example", "1"))

	// Topics of two forums have distinct keys, which change with the order of the forums.
	wait := func(key governance.TopicKey, title string) {
		t.Helper()
		h.waitForTopic(key, func(d governance.ForumTopicDetail) bool { return d.Title == title })
	}
	first := topicKey("dao", "1")
	inOrder := func() {
		t.Helper()
		h.append(forumDAO("dao", "b.example", "a.example"))
		wait(first, "another one")
		wait(topicKey("dao", "a.example/1"), "one")
		h.waitForTopicList("dao", first, topicKey("dao", "a.example/1"))
	}
	inOrder()
	h.append(forumDAO("dao", "a.example", "b.example"))
	wait(first, "one")
	wait(topicKey("dao", "b.example/1"), "another one")
	h.waitForNone(cache.TopicDetailKey(topicKey("dao", "a.example/1")))
	h.waitForTopicList("dao", first, topicKey("dao", "b.example/1"))
	inOrder()
}

func TestTopicsFollowLinkedProposals(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	const post = `<p>Vote on <a href="https://snapshot.box/#/s:dao.eth/proposal/linked">Snapshot</a>.`
	h.append(topic("forum.example", "7", "talk", post), topic("forum.example", "8", "other talk", ""))
	h.startLeader(h.metrics)
	related := func(id string, want ...string) cache.View {
		h.t.Helper()
		return h.waitForTopic(topicKey("forum.example", id), func(d governance.ForumTopicDetail) bool {
			got := []string{}
			for _, p := range d.RelatedProposals {
				got = append(got, fmt.Sprint(*p.Title, " ", p.ProposalKey))
			}
			return cmp.Equal(append([]string{}, want...), got)
		})
	}
	related("7")
	alone := related("8")

	discussed := proposal("discussed")
	discussed.Title, discussed.DiscussionURL = "A", "http://www.Forum.example/t/talk/7/2?u=x"
	h.append(discussed)
	related("7", fmt.Sprint("A ", keyOf("dao.eth", "discussed")))
	linked := proposal("linked")
	linked.Title, linked.DiscussionURL = "B", "https://forum.example/t/7" // a link in both directions counts once
	h.append(linked)
	related("7", fmt.Sprint("A ", keyOf("dao.eth", "discussed")), fmt.Sprint("B ", keyOf("dao.eth", "linked")))
	env.Want(t, alone.Revision, related("8").Revision, "revision of a topic without links")
	rows, err := pages.ListTopics(t.Context(), h.warehouse, query.Topics{
		Related: new(true), Order: query.TopicsByUpdate, Paging: query.Paging[query.TopicPosition]{Limit: 10},
	})
	if err != nil || len(rows) != 1 || rows[0].Title != "talk" {
		t.Errorf("got relevant topics %+v (%v), want the linked one", rows, err)
	}

	// Ballots do not change topics.
	before := related("7", fmt.Sprint("A ", keyOf("dao.eth", "discussed")), fmt.Sprint("B ", keyOf("dao.eth", "linked")))
	h.append(vote("linked", "0x1", "1"))
	h.waitForVotes(keyOf("dao.eth", "linked"), "1")
	renamed := proposal("linked")
	renamed.Title = "0"
	if _, view, err := h.topic(topicKey("forum.example", "7")); err != nil || view.Revision != before.Revision {
		t.Errorf("got revision %d (%v) after a ballot, want %d as before", view.Revision, err, before.Revision)
	}
	h.append(renamed)
	related("7", fmt.Sprint("0 ", keyOf("dao.eth", "linked")), fmt.Sprint("A ", keyOf("dao.eth", "discussed")))

	moved := proposal("discussed")
	moved.Title, moved.DiscussionURL = "A", "https://forum.example/t/other-talk/8"
	h.append(moved)
	related("8", fmt.Sprint("A ", keyOf("dao.eth", "discussed")))
	related("7", fmt.Sprint("0 ", keyOf("dao.eth", "linked")))

	h.append(&record.DAO{ID: "dao", Name: "d", Sources: []record.SourceRef{{Provider: governance.Snapshot, ID: "dao.eth"}}})
	related("8", fmt.Sprint("A ", keyOf("dao", "discussed")))
	related("7", fmt.Sprint("0 ", keyOf("dao", "linked")))
}

func TestTopicsSurviveARedisFlush(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	const topics = 1203 // more than one batch
	records := make([]record.Record, topics)
	for i := range records {
		records[i] = topic("a.example", strconv.Itoa(i+1), "topic", "<p>text")
	}
	h.append(records...)
	h.append(forumDAO("empty"))
	h.startLeader(h.metrics)
	h.waitForTopic(topicKey("a.example", "999"), anyTopic)
	h.waitForTopicVersion("a.example", 0)
	env.FlushRedis(t, h.redis)
	h.waitForPublication()
	for i := range topics {
		if _, _, err := h.topic(topicKey("a.example", strconv.Itoa(i+1))); err != nil {
			t.Fatalf("topic %d: %v", i+1, err)
		}
	}
	if h.topicVersion("a.example") == 0 || h.topicVersion("") == 0 {
		t.Error("got no versions of the lists")
	}
}

// The next leader completes what one leaves behind that dies between records and views.
func TestNewLeaderComparesEveryForum(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.append(topic("a.example", "1", "one", ""))
	stop := h.startLeader(prometheus.NewRegistry())
	h.waitForTopic(topicKey("a.example", "1"), anyTopic)
	h.waitForPublication()
	stop()
	// The state that an earlier version of the rules left.
	rows, err := records.Topics(t.Context(), h.warehouse, []records.TopicRef{{Host: "a.example", ExternalID: "1"}})
	if err != nil || len(rows) != 1 {
		t.Fatalf("got %+v (%v), want the topic", rows, err)
	}
	detail, view, err := h.topic(topicKey("a.example", "1"))
	if err != nil {
		t.Fatal(err)
	}
	env.MustDo(t, counts.WriteTopicStates(t.Context(), h.warehouse, []counts.TopicState{{
		TopicRef: rows[0].Ref(), Visible: true, TopicVersion: rows[0].Version, Revision: view.Revision + 1,
		Row: governance.ForumTopic{TopicKey: detail.TopicKey, Identity: detail.Identity, Title: "by other rules"},
	}}))
	h.startLeader(h.metrics)
	env.Until(h.t, func() error {
		if _, now, err := h.topic(detail.TopicKey); err != nil || now.Revision <= view.Revision {
			return fmt.Errorf("got revision %d (%w), want one after %d", now.Revision, err, view.Revision)
		}
		return nil
	})
}

// A leader may die after it has written new links, and before topics show them.
func TestNewLeaderCompletesInterruptedLinks(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.append(topic("a.example", "1", "one", ""))
	stop := h.startLeader(prometheus.NewRegistry())
	view := h.waitForTopic(topicKey("a.example", "1"), anyTopic)
	published := h.waitForPublication()
	stop()
	link := counts.ProposalLink{Ref: proposal("p").Hash(), Key: keyOf("dao.eth", "p"), Title: "P", Topic: governance.TopicName("a.example", "1")}
	env.MustDo(t, counts.WriteProposalLinks(t.Context(), h.warehouse, []counts.ChangedLink{{ProposalLink: link}}, max(published.Revision, view.Revision)+1))
	h.startLeader(h.metrics)
	h.waitForTopic(topicKey("a.example", "1"), func(d governance.ForumTopicDetail) bool { return len(d.RelatedProposals) == 1 })
}
