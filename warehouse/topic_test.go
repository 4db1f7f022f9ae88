package warehouse_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"pnyx/governance"
	"pnyx/governance/query"
	"pnyx/test/env"
	"pnyx/warehouse"
	"pnyx/warehouse/counts"
	"pnyx/warehouse/pages"
	"pnyx/warehouse/record"
	"pnyx/warehouse/records"
)

// topicStates draws states of topics with many equal sort keys.
func topicStates(n int) []counts.TopicState {
	dice := rand.New(rand.NewPCG(1, 2))
	moment := func() *governance.Timestamp {
		if dice.IntN(5) == 0 {
			return nil
		}
		stamp := governance.Timestamp(dice.IntN(6))
		return &stamp
	}
	states := make([]counts.TopicState, n)
	for i := range states {
		identity := governance.Identity{DAOID: fmt.Sprint("dao", dice.IntN(3)), Provider: governance.Discourse, ExternalID: fmt.Sprint(i)}
		replies := uint64(dice.IntN(4))
		states[i] = counts.TopicState{
			TopicRef: records.TopicRef{Host: fmt.Sprint("host", i%4), ExternalID: fmt.Sprint(i)},
			Row: governance.ForumTopic{
				TopicKey: identity.TopicKey(), Identity: identity, Title: fmt.Sprint(i), Tags: []string{}, Replies: governance.CountOf(replies),
				Posts: "0", Likes: "0", Views: "0", CreatedAt: moment(), UpdatedAt: moment(),
			},
			Replies: replies, Related: dice.IntN(2) == 0, Visible: dice.IntN(8) != 0, Revision: 2,
		}
	}
	return states
}

// placeOf is what an order compares.
func placeOf(order query.TopicOrder, s counts.TopicState) (place int64, position query.TopicPosition) {
	position = query.TopicPosition{At: s.Row.UpdatedAt, Key: s.Row.TopicKey}
	switch order {
	case query.TopicsByReplies:
		position.At, position.Replies = nil, int64(s.Replies)
		return position.Replies, position
	case query.TopicsByCreation:
		position.At = s.Row.CreatedAt
	case query.TopicsByUpdate:
	}
	if position.At == nil {
		return -1, position
	}
	return int64(*position.At), position
}

// passes says whether a filter lets a topic through.
func passes(f query.Topics, s counts.TopicState) bool {
	at := s.Row.UpdatedAt
	return s.Visible && (f.DAOID == "" || s.Row.Identity.DAOID == f.DAOID) &&
		(f.Provider == "" || f.Provider == string(governance.Discourse)) &&
		(f.Related == nil || s.Related == *f.Related) && s.Replies >= uint64(f.MinReplies) &&
		(f.UpdatedFrom == nil || at != nil && *at >= *f.UpdatedFrom) && (f.UpdatedTo == nil || at != nil && *at < *f.UpdatedTo)
}

func TestPagesOfTopicsEqualFilteredAndSortedTopics(t *testing.T) {
	t.Parallel()
	w := open(t)
	states := topicStates(120)
	older := slices.Clone(states)
	for i := range older {
		older[i].Revision, older[i].Visible, older[i].Replies = 1, true, 99
	}
	for _, written := range [][]counts.TopicState{older, states} {
		env.MustDo(t, counts.WriteTopicStates(t.Context(), w, written))
	}
	two, four := governance.Timestamp(2), governance.Timestamp(4)
	for _, order := range []query.TopicOrder{query.TopicsByUpdate, query.TopicsByCreation, query.TopicsByReplies} {
		for i, filter := range []query.Topics{
			{},
			{DAOID: "dao1"},
			{DAOID: "nobody"},
			{Provider: "discourse", Related: new(true)},
			{Provider: "snapshot"},
			{Related: new(false), MinReplies: 2},
			{UpdatedFrom: &two},
			{UpdatedTo: &four},
			{UpdatedFrom: &two, UpdatedTo: &four, DAOID: "dao2"},
			{UpdatedFrom: &two, UpdatedTo: &two},
			{MinReplies: 4},
		} {
			want := slices.DeleteFunc(slices.Clone(states), func(s counts.TopicState) bool { return !passes(filter, s) })
			slices.SortFunc(want, func(a, b counts.TopicState) int {
				placeA, _ := placeOf(order, a)
				placeB, _ := placeOf(order, b)
				return cmp.Or(cmp.Compare(placeB, placeA), cmp.Compare(b.Row.TopicKey, a.Row.TopicKey))
			})
			filter.Order, filter.Limit = order, []int{200, 7, 13}[i%3]
			wantPages(t, w, filter, want)
		}
	}
}

// wantPages walks a list to its end.
func wantPages(
	t *testing.T, w *warehouse.Warehouse, q query.Topics, want []counts.TopicState,
) {
	t.Helper()
	read := 0
	var all []governance.ForumTopic
	for _, s := range want {
		all = append(all, s.Row)
	}
	got := walk(t, q.Limit, func(after *governance.ForumTopic) ([]governance.ForumTopic, error) {
		if after != nil {
			read += q.Limit
			_, position := placeOf(q.Order, want[read-1])
			q.After = &position
		}
		return pages.ListTopics(t.Context(), w, q)
	})
	env.WantSame(t, fmt.Sprintf("%+v", q), all, got)
}

// topicsAgree checks the queries about topics that join sharded tables.
func topicsAgree(t *testing.T, w *warehouse.Warehouse) {
	t.Helper()
	var topics, categories []record.Record
	var refs []records.TopicRef
	for i := range 30 {
		host := fmt.Sprint("host", i%4)
		topics = append(topics, &record.Topic{Host: host, ExternalID: fmt.Sprint(i), CategoryID: "1", Visible: true})
		categories = append(categories, &record.Category{Host: host, ID: "1", Name: "Grants"})
		refs = append(refs, records.TopicRef{Host: host, ExternalID: fmt.Sprint(i)})
	}
	appendAll(t, w, topics...)
	appendAll(t, w, categories...)
	held, err := records.Topics(t.Context(), w, refs)
	if err != nil || len(held) != 30 || slices.ContainsFunc(held, func(t records.Topic) bool { return t.Category != "Grants" }) {
		t.Errorf("got %d topics (%v), want 30 in their category", len(held), err)
	}
	env.Want(t, 30, len(env.Must(records.AllTopics(t.Context(), w))(t)), "topics in all")
	forums := []records.Forum{{Host: "host1", DAOID: "a"}, {Host: "host2", DAOID: "b"}}
	env.Want(t, 15, len(env.Must(records.TopicsChanged(t.Context(), w, forums, 1, 0))(t)), "topics changed")
	states := topicStates(30)
	for i := range states {
		states[i].Name, states[i].Links = fmt.Sprint("topic", i), []string{fmt.Sprint("proposal", i)}
	}
	env.MustDo(t, counts.WriteTopicStates(t.Context(), w, states))
	page := env.Must(pages.ListTopics(t.Context(), w, query.Topics{Order: query.TopicsByReplies, Paging: query.Paging[query.TopicPosition]{Limit: 5}}))(t)
	env.Want(t, 5, len(page), "rows")
	env.Want(t, 30, len(env.Must(counts.PublishedTopics(t.Context(), w, refs))(t)), "published topics")
	linksAgree(t, w)
}

func linksAgree(t *testing.T, w *warehouse.Warehouse) {
	t.Helper()
	var links []counts.ChangedLink
	for i := range 20 {
		links = append(links, counts.ChangedLink{
			ProposalLink: counts.ProposalLink{Ref: ref(fmt.Sprint(i)).Hash(), Names: []string{fmt.Sprint("proposal", i)}, Topic: fmt.Sprint("topic", i+5)},
			Previous:     counts.ProposalLink{Topic: "topic29"},
		})
	}
	env.MustDo(t, counts.WriteProposalLinks(t.Context(), w, links, 7))
	for since, want := range map[uint64]int{6: 26, 7: 0} {
		env.Want(t, want, len(env.Must(records.TopicsLinked(t.Context(), w, since))(t)), "topics linked since", since)
	}
	found := env.Must(counts.LinkedProposals(t.Context(), w, []string{"topic5", "topic99"}, []string{"proposal3", "proposal0"}))(t)
	env.Want(t, 2, len(found), "proposals linked")
}

func TestTopicsAndLinksAreFound(t *testing.T) {
	t.Parallel()
	topicsAgree(t, open(t))
}

func TestTopicsOfRestrictedCategoriesAreWithheld(t *testing.T) {
	t.Parallel()
	const host = "forum.example.org"
	topic := func(id string) *record.Topic {
		return &record.Topic{Host: host, ExternalID: id, Title: "Budget", CategoryID: "7", BodyHTML: "secret", Visible: true}
	}
	category := func(restricted bool) *record.Category {
		return &record.Category{Host: host, ID: "7", Restricted: restricted}
	}
	w := open(t)
	want := func(step string, withheld bool) {
		t.Helper()
		held, err := records.HeldTopics(t.Context(), w, host, []string{"1", "2"}, true)
		if err != nil || len(held) == 0 {
			t.Fatalf("%s: got %d topics (%v)", step, len(held), err)
		}
		for _, h := range held {
			if h.Withdrawn != withheld || h.Visible == withheld || (h.BodyHTML == "") != withheld {
				t.Errorf("%s: got %+v, want withheld %t", step, h, withheld)
			}
		}
	}
	appendAll(t, w, topic("1"))
	want("nothing is known of the category", false)
	appendAll(t, w, category(true))
	want("the category becomes restricted", true)
	appendAll(t, w, topic("1"), topic("2"))
	want("topics come later", true)
	appendAll(t, w, category(false), topic("1"), topic("2"))
	want("the category is open", false)
	appendAll(t, w, topic("1"), topic("2"), category(true))
	want("both at once", true)
}
