package worker_test

import (
	"errors"
	"fmt"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"pnyx/cache"
	"pnyx/governance"
	"pnyx/test/env"
	"pnyx/warehouse"
	"pnyx/warehouse/record"
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

func (h *house) topic(key governance.TopicKey) (detail governance.ForumTopicDetail, view cache.View, err error) {
	view, err = h.store.View(h.t.Context(), cache.TopicDetailKey(key))
	if err == nil {
		err = view.Decode(&detail)
	}
	return detail, view, err
}

// hasTopic waits until a topic's detail has something.
func (h *house) hasTopic(key governance.TopicKey, has func(governance.ForumTopicDetail) bool) cache.View {
	h.t.Helper()
	var found cache.View
	env.Until(h.t, func() error {
		detail, view, err := h.topic(key)
		if err == nil && !has(detail) {
			err = fmt.Errorf("got %+v", detail)
		}
		found = view
		return err
	})
	return found
}

func (h *house) hasNoTopic(key governance.TopicKey) {
	h.t.Helper()
	env.Until(h.t, func() error {
		if _, _, err := h.topic(key); !errors.Is(err, cache.ErrMiss) {
			return fmt.Errorf("%s has an answer (%w)", key, err)
		}
		return nil
	})
}

func anyTopic(governance.ForumTopicDetail) bool { return true }

// listed waits until the list of a DAO's topics, all for "", has these keys; and
// until its mark is as late as the topics are.
func (h *house) listed(daoID string, want ...governance.TopicKey) {
	h.t.Helper()
	env.Until(h.t, func() error {
		rows, err := h.warehouse.TopicPage(h.t.Context(), warehouse.TopicsByReplies, warehouse.TopicFilter{DAOID: daoID}, 100)
		if err != nil {
			return err
		}
		got := map[governance.TopicKey]bool{}
		for _, row := range rows {
			got[row.TopicKey] = true
		}
		wanted := map[governance.TopicKey]bool{}
		for _, key := range want {
			wanted[key] = true
		}
		if diff := cmp.Diff(wanted, got); diff != "" {
			return fmt.Errorf("list of %q (-want +got):\n%s", daoID, diff)
		}
		return nil
	})
}

func (h *house) topicMark(daoID string) uint64 {
	mark, err := h.store.Version(h.t.Context(), cache.TopicPage, daoID)
	if err != nil && !errors.Is(err, cache.ErrMiss) {
		h.t.Fatal(err)
	}
	return mark.Revision
}

// marked waits until the mark of a DAO's topics is past a revision.
func (h *house) marked(daoID string, past uint64) {
	h.t.Helper()
	env.Until(h.t, func() error {
		if mark := h.topicMark(daoID); mark <= past {
			return fmt.Errorf("the mark of %q is %d, want it past %d", daoID, mark, past)
		}
		return nil
	})
}

func TestATopicIsPublishedWithWhatFollowsFromIt(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	created, last, people := governance.Timestamp(1000), governance.Timestamp(2000), uint64(4)
	one := topic("forum.example", "7", "Election of the council", "<p>Who runs? <b>Everybody.</b></p>")
	one.CategoryID, one.Tags, one.Author, one.Posts, one.Likes, one.Views = "3", []string{"a", "b"}, "ana", 12, 5, 99
	one.Participants, one.CreatedAt, one.UpdatedAt, one.LastPostAt = &people, &created, &last, &last
	little := topic("forum.example", "8", "Hello", "")
	little.Posts, little.Slug = 0, ""
	h.append(forumDAO("dao", "forum.example"), &record.Category{Host: "forum.example", ID: "3", Name: "Elections"}, one, little)
	h.work(h.metrics)

	h.hasTopic(topicKey("dao", "7"), anyTopic)
	got, _, err := h.topic(topicKey("dao", "7"))
	if err != nil {
		t.Fatal(err)
	}
	text, author, category, participants := "Who runs? Everybody.", "ana", "Elections", governance.Decimal("4")
	want := governance.ForumTopicDetail{
		TopicKey: topicKey("dao", "7"), Identity: governance.Identity{DAOID: "dao", Provider: governance.Discourse, ExternalID: "7"},
		Title: "Election of the council", Summary: &text, URL: "https://forum.example/t/slug/7", Author: &author, Category: &category,
		Tags: []string{"a", "b"}, RelevanceScore: 60, Replies: "11", Posts: "12", Likes: "5", Views: "99", CreatedAt: &created, UpdatedAt: &last,
		BodyText: &text, Participants: &participants, LastPostAt: &last, RelatedProposals: []governance.RelatedProposal{},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("detail (-want +got):\n%s", diff)
	}
	h.hasTopic(topicKey("dao", "8"), func(d governance.ForumTopicDetail) bool {
		return d.Replies == "0" && d.Posts == "0" && d.Participants == nil && d.BodyText == nil && d.Summary == nil &&
			d.Tags != nil && d.URL == "https://forum.example/t/8" && d.LastPostAt == nil
	})
	h.listed("dao", topicKey("dao", "7"), topicKey("dao", "8"))
	h.marked("dao", 0)
	h.marked("", 0)
}

func TestOnlyTopicsThatChangedArePublishedAgain(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.append(topic("a.example", "1", "one", ""), topic("a.example", "2", "two", ""), topic("b.example", "1", "other", ""))
	h.work(h.metrics)
	before := h.hasTopic(topicKey("a.example", "1"), anyTopic)
	untouched := h.hasTopic(topicKey("a.example", "2"), anyTopic)
	h.hasTopic(topicKey("b.example", "1"), anyTopic)
	h.marked("b.example", 0)
	marks := [3]uint64{h.topicMark("a.example"), h.topicMark("b.example"), h.topicMark("")}

	changed := topic("a.example", "1", "one", "<p>Edited.")
	h.append(changed)
	after := h.hasTopic(topicKey("a.example", "1"), func(d governance.ForumTopicDetail) bool { return d.BodyText != nil })
	if after.Revision <= before.Revision {
		t.Errorf("got revision %d after %d, want a later one", after.Revision, before.Revision)
	}
	h.marked("a.example", marks[0])
	h.marked("", marks[2])
	if _, view, err := h.topic(topicKey("a.example", "2")); err != nil || view.Revision != untouched.Revision {
		t.Errorf("the other topic has revision %d (%v), want %d as before", view.Revision, err, untouched.Revision)
	}
	if mark := h.topicMark("b.example"); mark != marks[1] {
		t.Errorf("the other forum's mark is %d, want %d as before", mark, marks[1])
	}

	// A category is renamed, and with it what its topics show.
	categorized := topic("a.example", "2", "two", "")
	categorized.CategoryID = "5"
	h.append(categorized, &record.Category{Host: "a.example", ID: "5", Name: "Grants"})
	h.hasTopic(topicKey("a.example", "2"), func(d governance.ForumTopicDetail) bool { return d.Category != nil && *d.Category == "Grants" })
	h.append(&record.Category{Host: "a.example", ID: "5", Name: "Missions"})
	h.hasTopic(topicKey("a.example", "2"), func(d governance.ForumTopicDetail) bool { return *d.Category == "Missions" })
}

func TestAHiddenTopicDisappears(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.append(topic("a.example", "1", "one", ""), topic("a.example", "2", "two", ""))
	h.work(h.metrics)
	h.hasTopic(topicKey("a.example", "1"), anyTopic)
	h.listed("", topicKey("a.example", "1"), topicKey("a.example", "2"))

	hidden := topic("a.example", "1", "one", "")
	hidden.Visible = false
	h.append(hidden)
	h.hasNoTopic(topicKey("a.example", "1"))
	h.listed("", topicKey("a.example", "2"))
	h.append(topic("a.example", "1", "one again", ""))
	h.hasTopic(topicKey("a.example", "1"), anyTopic)
	h.listed("", topicKey("a.example", "1"), topicKey("a.example", "2"))
}

func TestAClaimedForumsTopicsMoveToItsDAO(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.append(topic("a.example", "1", "one", ""))
	h.work(h.metrics)
	h.hasTopic(topicKey("a.example", "1"), anyTopic)
	h.marked("a.example", 0)
	former := h.topicMark("a.example")

	h.append(forumDAO("dao", "a.example"))
	h.hasTopic(topicKey("dao", "1"), anyTopic)
	h.hasNoTopic(topicKey("a.example", "1"))
	h.listed("dao", topicKey("dao", "1"))
	h.listed("a.example")
	h.marked("a.example", former)

	// What no DAO claims any more is one of its own again.
	h.append(forumDAO("dao", "b.example"), topic("b.example", "1", "another one", ""))
	h.hasTopic(topicKey("dao", "1"), func(d governance.ForumTopicDetail) bool { return d.Title == "another one" })
	h.hasTopic(topicKey("a.example", "1"), func(d governance.ForumTopicDetail) bool { return d.Title == "one" })
	h.listed("dao", topicKey("dao", "1"))
	h.listed("a.example", topicKey("a.example", "1"))
}

func TestTopicsOfTwoForumsOfADAOKeepApart(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.append(topic("a.example", "1", "in a", ""), topic("b.example", "1", "in b", ""), forumDAO("dao", "b.example", "a.example"))
	h.work(h.metrics)
	is := func(title string) func(governance.ForumTopicDetail) bool {
		return func(d governance.ForumTopicDetail) bool { return d.Title == title }
	}
	h.hasTopic(topicKey("dao", "1"), is("in b"))
	h.hasTopic(topicKey("dao", "a.example/1"), is("in a"))
	h.listed("dao", topicKey("dao", "1"), topicKey("dao", "a.example/1"))

	// They change keys with each other.
	h.append(forumDAO("dao", "a.example", "b.example"))
	h.hasTopic(topicKey("dao", "1"), is("in a"))
	h.hasTopic(topicKey("dao", "b.example/1"), is("in b"))
	h.hasNoTopic(topicKey("dao", "a.example/1"))
	h.listed("dao", topicKey("dao", "1"), topicKey("dao", "b.example/1"))
	h.append(forumDAO("dao", "b.example", "a.example"))
	h.hasTopic(topicKey("dao", "1"), is("in b"))
	h.hasTopic(topicKey("dao", "a.example/1"), is("in a"))
}

func TestTopicsFollowTheProposalsTheyAreLinkedTo(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	const post = `<p>Vote on <a href="https://snapshot.box/#/s:dao.eth/proposal/linked">Snapshot</a>.`
	h.append(topic("forum.example", "7", "talk", post), topic("forum.example", "8", "other talk", ""))
	h.work(h.metrics)
	related := func(id string, want ...string) cache.View {
		h.t.Helper()
		return h.hasTopic(topicKey("forum.example", id), func(d governance.ForumTopicDetail) bool {
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
	linked.Title, linked.DiscussionURL = "B", "https://forum.example/t/7" // both ways is one link
	h.append(linked)
	related("7", fmt.Sprint("A ", keyOf("dao.eth", "discussed")), fmt.Sprint("B ", keyOf("dao.eth", "linked")))
	if view := related("8"); view.Revision != alone.Revision {
		t.Errorf("a topic without links has revision %d, want %d as before", view.Revision, alone.Revision)
	}
	rows, err := h.warehouse.TopicPage(t.Context(), warehouse.TopicsByUpdate, warehouse.TopicFilter{Related: new(true)}, 10)
	if err != nil || len(rows) != 1 || rows[0].Title != "talk" {
		t.Errorf("about governance are %+v (%v), want the linked topic", rows, err)
	}

	// Ballots are no concern of a topic's.
	before := related("7", fmt.Sprint("A ", keyOf("dao.eth", "discussed")), fmt.Sprint("B ", keyOf("dao.eth", "linked")))
	h.append(vote("linked", "0x1", "1"))
	h.hasVotes(keyOf("dao.eth", "linked"), "1")
	renamed := proposal("linked")
	renamed.Title = "0"
	if _, view, err := h.topic(topicKey("forum.example", "7")); err != nil || view.Revision != before.Revision {
		t.Errorf("a ballot moved the topic to revision %d (%v), want %d as before", view.Revision, err, before.Revision)
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

func TestAFlushedRedisGetsItsTopicsBack(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	const topics = 1203 // more than are published at a time
	records := make([]record.Record, topics)
	for i := range records {
		records[i] = topic("a.example", strconv.Itoa(i+1), "topic", "<p>text")
	}
	h.appendTogether(records...)
	h.append(forumDAO("empty"))
	h.work(h.metrics)
	h.hasTopic(topicKey("a.example", "999"), anyTopic)
	h.marked("a.example", 0)
	if err := h.redis.FlushAll(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	h.published()
	for i := range topics {
		if _, _, err := h.topic(topicKey("a.example", strconv.Itoa(i+1))); err != nil {
			t.Fatalf("topic %d: %v", i+1, err)
		}
	}
	if h.topicMark("a.example") == 0 || h.topicMark("") == 0 {
		t.Error("the lists have no marks")
	}
}

// What a worker leaves behind that ends between the records and their views is done
// by the next.
func TestANewWorkerLooksAtEveryForum(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.append(topic("a.example", "1", "one", ""))
	stop := h.work(prometheus.NewRegistry())
	h.hasTopic(topicKey("a.example", "1"), anyTopic)
	h.published()
	stop()
	// As an earlier version published it.
	rows, err := h.warehouse.Topics(t.Context(), []warehouse.TopicRef{{Host: "a.example", ExternalID: "1"}})
	if err != nil || len(rows) != 1 {
		t.Fatalf("got %+v (%v), want the topic", rows, err)
	}
	detail, view, err := h.topic(topicKey("a.example", "1"))
	if err != nil {
		t.Fatal(err)
	}
	err = h.warehouse.WriteTopicStates(t.Context(), []warehouse.TopicState{{
		TopicRef: rows[0].Ref(), Visible: true, TopicVersion: rows[0].Version, Revision: view.Revision + 1,
		Row: governance.ForumTopic{TopicKey: detail.TopicKey, Identity: detail.Identity, Title: "by other rules"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	h.work(h.metrics)
	env.Until(h.t, func() error {
		if _, now, err := h.topic(detail.TopicKey); err != nil || now.Revision <= view.Revision {
			return fmt.Errorf("got revision %d (%w), want one past %d", now.Revision, err, view.Revision)
		}
		return nil
	})
}

// A worker may end when it has noted new links, and before the topics show them.
func TestANewWorkerFollowsLinksThatWereOnlyNoted(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.append(topic("a.example", "1", "one", ""))
	stop := h.work(prometheus.NewRegistry())
	view := h.hasTopic(topicKey("a.example", "1"), anyTopic)
	published := h.published()
	stop()
	link := warehouse.ProposalLink{Ref: proposal("p").Hash(), Key: keyOf("dao.eth", "p"), Title: "P", Topic: governance.TopicName("a.example", "1")}
	err := h.warehouse.WriteProposalLinks(t.Context(), []warehouse.ChangedLink{{ProposalLink: link}}, max(published.Revision, view.Revision)+1)
	if err != nil {
		t.Fatal(err)
	}
	h.work(h.metrics)
	h.hasTopic(topicKey("a.example", "1"), func(d governance.ForumTopicDetail) bool { return len(d.RelatedProposals) == 1 })
}
