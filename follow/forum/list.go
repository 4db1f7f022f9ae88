package forum

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"pnyx/fetch"
	"pnyx/follow"
	"pnyx/warehouse"
	"pnyx/warehouse/record"
	"pnyx/warehouse/records"
	"pnyx/warehouse/source"
)

const (
	// maxPages bounds the pages of all topics. The largest forums have some thousands.
	maxPages = 50_000
	// maxPerPage bounds the topics of a page; Discourse has 30, new versions up to 100.
	maxPerPage = 1000
)

type listed struct {
	id     string
	bumped time.Time
	pinned bool
	// topic has what lists state, no text or participants; nil if the entry is no record: problem says why.
	topic   *record.Topic
	problem string
}

// listedState is what tells that an entry has changed.
type listedState struct {
	bumped int64
	facts  string
}

func (t listed) state() listedState {
	if t.topic == nil {
		return listedState{t.bumped.UnixMilli(), t.problem}
	}
	return listedState{t.bumped.UnixMilli(), facts(t.topic)}
}

func idsOf(topics []listed) []string {
	return warehouse.Values(topics, func(t listed) string { return t.id })
}

// isWithheld reports whether the entry is of a topic that not everybody may read.
func (t listed) isWithheld() bool { return t.topic != nil && t.topic.Withdrawn }

// isBehind reports whether a record, nil for none, lacks what a list states.
func (t listed) isBehind(held *record.Topic) bool {
	if t.isWithheld() {
		return held != nil && !held.Withdrawn
	}
	return held == nil || held.Withdrawn || t.topic == nil || facts(held) != facts(t.topic)
}

// facts returns what lists and whole topics state alike, as a text to compare. The order of
// tags has no meaning, and likes and views are left out: they change all the time.
func facts(t *record.Topic) string {
	tags := strings.Join(slices.Sorted(slices.Values(t.Tags)), ",")
	return fmt.Sprintf("%q %q %q %q %d %t %t %t", t.Title, t.Slug, t.CategoryID, tags, t.Posts, t.Closed, t.Archived, t.Visible)
}

type listedPage struct {
	page   int
	topics []string
}

// list returns a page of topics of the whole forum in an order: "activity", "created", or
// "created&ascending=true". more is true if there are further pages. Pages are offsets: topics move between them.
// Topics of restricted categories are withheld.
func (l *pollers) list(ctx context.Context, order string, page int) (topics []listed, more bool, err error) {
	restricted, err := l.restrictedCategories(ctx)
	if err != nil {
		return nil, false, err
	}
	var said struct {
		List *struct {
			More   string            `json:"more_topics_url"`
			Topics []json.RawMessage `json:"topics"`
		} `json:"topic_list"`
	}
	path := fmt.Sprintf("/latest.json?order=%s&page=%d", order, page)
	if _, err := l.get(ctx, path, &said); err != nil {
		return nil, false, err
	}
	switch {
	case said.List == nil || said.List.Topics == nil:
		return nil, false, fmt.Errorf("answer of %s to %s %w", l.Name, path, errNoForum)
	case len(said.List.Topics) == 0 && said.List.More != "":
		return nil, false, fmt.Errorf("%s answers a page without topics, and says that there are more", l.Name)
	case page >= maxPages:
		return nil, false, fmt.Errorf("%w: %s has more than %d pages of topics", follow.ErrEndless, l.Name, maxPages)
	case len(said.List.Topics) > maxPerPage:
		return nil, false, fmt.Errorf("%s answers %d topics in a page", l.Name, len(said.List.Topics))
	}
	for _, raw := range said.List.Topics {
		var item struct {
			ID     fetch.Count `json:"id"`
			Bumped fetch.Time  `json:"bumped_at"`
			Pinned bool        `json:"pinned"`
		}
		if err := fetch.Decode(raw, &item); err != nil || item.ID == 0 || item.ID > math.MaxInt64 {
			return nil, false, fmt.Errorf("entry in the answer of %s to %s %w: %w", l.Name, path, errNoForum, err)
		}
		entry := listed{id: text(item.ID), bumped: item.Bumped.Time, pinned: item.Pinned}
		parsed, err := source.DiscourseTopic.Parse(l.Name, raw)
		if err != nil {
			entry.problem = err.Error()
		} else if topic, is := parsed.(*record.Topic); is && restricted[topic.CategoryID] {
			entry.topic = topic.Withheld()
		} else {
			entry.topic = topic
		}
		topics = append(topics, entry)
	}
	read := listedPage{page, idsOf(topics)}
	last, _ := l.listed.Load(order)
	if before, is := last.(listedPage); is && before.page == page-1 && len(topics) > 0 && slices.Equal(before.topics, read.topics) {
		return nil, false, fmt.Errorf("%w: %s answers the same page of topics again", follow.ErrEndless, l.Name)
	}
	l.listed.Store(order, read)
	return topics, said.List.More != "", nil
}

// held returns the records of listed topics by their ids, without texts.
func (l *pollers) held(ctx context.Context, topics []listed) (map[string]*record.Topic, error) {
	if len(topics) == 0 {
		return map[string]*record.Topic{}, nil
	}
	held, err := records.HeldTopics(ctx, l.journal.Warehouse, l.Name, idsOf(topics), false)
	return warehouse.Keyed(held, err, func(t record.Topic) (string, *record.Topic) { return t.ExternalID, &t })
}
