package warehouse

import (
	"context"
	"fmt"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"pnyx/governance"
	"pnyx/governance/query"
)

// topicPlace returns the expression by which an order sorts topics, and its value at a
// position: a time in milliseconds, -1 for an unknown time, or the number of replies.
func topicPlace(order query.TopicOrder, p query.TopicPosition) (expression string, place int64) {
	switch order {
	case query.TopicsByReplies:
		return "toInt64(replies)", p.Replies
	case query.TopicsByCreation:
		expression = "ifNull(toUnixTimestamp64Milli(created_at), -1)"
	case query.TopicsByUpdate:
		expression = "ifNull(toUnixTimestamp64Milli(updated_at), -1)"
	}
	if p.At == nil {
		return expression, -1
	}
	return expression, int64(*p.At)
}

// ListTopics returns the first q.Limit visible topics after q.After that q selects.
func (w *Warehouse) ListTopics(ctx context.Context, q query.Topics) ([]governance.ForumTopic, error) {
	var after query.TopicPosition
	if q.After != nil {
		after = *q.After
	}
	order, place := topicPlace(q.Order, after)
	rows, err := w.conn.Query(ctx, fmt.Sprintf(sqlText("topic_page"), order),
		clickhouse.Named("dao", q.DAOID), clickhouse.Named("provider", q.Provider),
		clickhouse.Named("has_related", boolNumber(q.Related != nil)),
		clickhouse.Named("related", boolNumber(q.Related != nil && *q.Related)),
		clickhouse.Named("has_from", boolNumber(q.UpdatedFrom != nil)),
		clickhouse.Named("from", milliseconds(q.UpdatedFrom)),
		clickhouse.Named("has_to", boolNumber(q.UpdatedTo != nil)), clickhouse.Named("to", milliseconds(q.UpdatedTo)),
		clickhouse.Named("least", uint64(max(q.MinReplies, 0))), clickhouse.Named("after_key", string(after.Key)),
		clickhouse.Named("after_place", place), clickhouse.Named("limit", q.Limit))
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
	t.Summary, t.Author, t.Category = governance.OptionalText(summary), governance.OptionalText(author), governance.OptionalText(category)
	t.RelevanceScore = int(score)
	t.Replies, t.Posts = governance.CountOf(replies), governance.CountOf(posts)
	t.Likes, t.Views = governance.CountOf(likes), governance.CountOf(views)
	t.CreatedAt, t.UpdatedAt = timestampOf(created), timestampOf(updated)
	return t, nil
}

// milliseconds returns a time in milliseconds since the Unix epoch; 0 for nil.
func milliseconds(stamp *governance.Timestamp) int64 {
	if stamp == nil {
		return 0
	}
	return int64(*stamp)
}
