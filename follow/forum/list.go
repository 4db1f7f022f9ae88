package forum

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"pnyx/warehouse/record"
	"pnyx/warehouse/source"
)

// listed is a topic as lists state it.
type listed struct {
	id     string
	bumped time.Time
	pinned bool
	// topic has what lists state: no author, text or participants. It is nil if the entry
	// is no record; problem then says why.
	topic   *record.Topic
	problem string
}

// listedState is what tells that an entry has changed.
type listedState struct {
	bumped int64
	facts  string
}

// state returns what tells that an entry has changed.
func (t listed) state() listedState {
	if t.topic == nil {
		return listedState{t.bumped.UnixMilli(), t.problem}
	}
	return listedState{t.bumped.UnixMilli(), facts(t.topic)}
}

// isBehind reports whether a record, nil for none, lacks what a list states.
func (t listed) isBehind(held *record.Topic) bool {
	return held == nil || held.Withdrawn || t.topic == nil || facts(held) != facts(t.topic)
}

// facts returns what lists and whole topics state alike, as a text to compare. The order of
// tags has no meaning, and likes and views are left out: they change all the time.
func facts(t *record.Topic) string {
	tags := strings.Join(slices.Sorted(slices.Values(t.Tags)), ",")
	return fmt.Sprintf("%q %q %q %q %d %t %t %t", t.Title, t.Slug, t.CategoryID, tags, t.Posts, t.Closed, t.Archived, t.Visible)
}

// list returns a page of topics in an order: "activity", "created", or
// "created&ascending=true". Pages are offsets: topics move between them. more is true if
// there are further pages.
func (f *Forum) list(ctx context.Context, order string, page int) (topics []listed, more bool, err error) {
	var said struct {
		List *struct {
			More   string `json:"more_topics_url"`
			Topics []json.RawMessage
		} `json:"topic_list"`
	}
	path := fmt.Sprintf("/latest.json?order=%s&page=%d", order, page)
	if _, err := f.get(ctx, path, &said); err != nil {
		return nil, false, err
	}
	if said.List == nil {
		return nil, false, fmt.Errorf("answer of %s to %s %w", f.Name, path, errNoForum)
	}
	for _, raw := range said.List.Topics {
		var item struct {
			ID     json.Number
			Bumped *time.Time `json:"bumped_at"`
			Pinned bool
		}
		if err := json.Unmarshal(raw, &item); err != nil || item.ID == "" {
			return nil, false, fmt.Errorf("entry in the answer of %s to %s %w: %w", f.Name, path, errNoForum, err)
		}
		entry := listed{id: item.ID.String(), pinned: item.Pinned}
		if item.Bumped != nil {
			entry.bumped = *item.Bumped
		}
		parsed, err := source.DiscourseTopic.Parse(f.Name, raw)
		if err != nil {
			entry.problem = err.Error()
		} else {
			entry.topic, _ = parsed.(*record.Topic)
		}
		topics = append(topics, entry)
	}
	return topics, said.List.More != "" && len(topics) > 0, nil
}

// held returns the records of listed topics by their ids, without texts.
func (l *lanes) held(ctx context.Context, topics []listed) (map[string]*record.Topic, error) {
	byID := make(map[string]*record.Topic, len(topics))
	if len(topics) == 0 {
		return byID, nil
	}
	ids := make([]string, len(topics))
	for i, t := range topics {
		ids[i] = t.id
	}
	records, err := l.journal.Warehouse.HeldTopics(ctx, l.Name, ids, false)
	for i := range records {
		byID[records[i].ExternalID] = &records[i]
	}
	return byID, err
}
