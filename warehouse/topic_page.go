package warehouse

import (
	"context"
	"fmt"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"pnyx/governance"
)

// TopicOrder is an order of the topic list, as the expression that it goes by; each
// ends in the topic's key.
type TopicOrder string

// The orders of the topic list: the newest first, those without a time last, or the
// one with the most replies first.
const (
	TopicsByUpdate   TopicOrder = "ifNull(toUnixTimestamp64Milli(updated_at), -1)"
	TopicsByCreation TopicOrder = "ifNull(toUnixTimestamp64Milli(created_at), -1)"
	TopicsByReplies  TopicOrder = "toInt64(replies)"
)

// TopicFilter selects topics of the list; zero fields select all.
type TopicFilter struct {
	DAOID, Provider string
	// Related selects those that are about governance, or that are not.
	Related *bool
	// UpdatedFrom is inclusive, UpdatedTo exclusive; either leaves out topics without
	// a time.
	UpdatedFrom, UpdatedTo *governance.Timestamp
	MinReplies             uint64
	// After is the last row of the page before.
	After *TopicPosition
}

// TopicPosition is a place in an order of the topic list: the milliseconds of the
// time, -1 for none, or the number of replies.
type TopicPosition struct {
	Place int64
	Key   governance.TopicKey
}

// TopicPage returns the first limit visible topics, in an order, that a filter lets
// through.
func (w *Warehouse) TopicPage(
	ctx context.Context, order TopicOrder, f TopicFilter, limit int,
) ([]governance.ForumTopic, error) {
	var after TopicPosition
	if f.After != nil {
		after = *f.After
	}
	rows, err := w.conn.Query(ctx, fmt.Sprintf(sqlText("topic_page"), order),
		clickhouse.Named("dao", f.DAOID), clickhouse.Named("provider", f.Provider),
		clickhouse.Named("has_related", boolNumber(f.Related != nil)),
		clickhouse.Named("related", boolNumber(f.Related != nil && *f.Related)),
		clickhouse.Named("has_from", boolNumber(f.UpdatedFrom != nil)), clickhouse.Named("from", milliseconds(f.UpdatedFrom)),
		clickhouse.Named("has_to", boolNumber(f.UpdatedTo != nil)), clickhouse.Named("to", milliseconds(f.UpdatedTo)),
		clickhouse.Named("least", f.MinReplies), clickhouse.Named("after_key", string(after.Key)),
		clickhouse.Named("after_place", after.Place), clickhouse.Named("limit", limit))
	if err != nil {
		return nil, fmt.Errorf("read a page of topics: %w", err)
	}
	defer rows.Close()
	page := []governance.ForumTopic{}
	for rows.Next() {
		topic, err := scanTopicRow(rows)
		if err != nil {
			return nil, fmt.Errorf("read a row of topics: %w", err)
		}
		page = append(page, topic)
	}
	return page, rows.Err()
}

func scanTopicRow(rows driver.Rows) (governance.ForumTopic, error) {
	var t governance.ForumTopic
	var key, provider, summary, author, category string
	var score uint8
	var posts, replies, likes, views uint64
	var created, updated *time.Time
	if err := rows.Scan(&key, &t.Identity.DAOID, &provider, &t.Identity.ExternalID, &t.Title, &summary, &t.URL, &author,
		&category, &t.Tags, &score, &posts, &replies, &likes, &views, &created, &updated); err != nil {
		return governance.ForumTopic{}, err
	}
	t.TopicKey, t.Identity.Provider = governance.TopicKey(key), governance.Provider(provider)
	t.Summary, t.Author, t.Category = textOrNull(summary), textOrNull(author), textOrNull(category)
	t.RelevanceScore = int(score)
	t.Replies, t.Posts = governance.CountOf(replies), governance.CountOf(posts)
	t.Likes, t.Views = governance.CountOf(likes), governance.CountOf(views)
	t.CreatedAt, t.UpdatedAt = timestampOf(created), timestampOf(updated)
	return t, nil
}

// milliseconds is what a moment is compared by; 0 where there is none.
func milliseconds(stamp *governance.Timestamp) int64 {
	if stamp == nil {
		return 0
	}
	return int64(*stamp)
}
