package pages

import (
	"context"
	"fmt"

	"github.com/ClickHouse/clickhouse-go/v2"

	"pnyx/governance"
	"pnyx/governance/query"
	"pnyx/warehouse"
)

// topicPlace returns the expression that sorts topics, and its value at a position: a time in milliseconds, -1 for
// an unknown time, or the number of replies.
func topicPlace(order query.TopicOrder, p query.TopicPosition) (expression string, place int64) {
	switch order {
	case query.TopicsByReplies:
		return "toInt64(replies)", p.Replies
	case query.TopicsByCreation:
		expression = "ifNull(toUnixTimestamp64Milli(created_at), -1)"
	case query.TopicsByUpdate:
		expression = "ifNull(toUnixTimestamp64Milli(updated_at), -1)"
	}
	return expression, orderedTime(p.At)
}

// ListTopics returns the first q.Limit visible topics after q.After that q selects.
func ListTopics(ctx context.Context, w *warehouse.Warehouse, q query.Topics) ([]governance.ForumTopic, error) {
	var after query.TopicPosition
	if q.After != nil {
		after = *q.After
	}
	order, place := topicPlace(q.Order, after)
	return warehouse.Find[governance.ForumTopic](ctx, w, "read a page of topics", fmt.Sprintf(sqlText("topic_page"), order),
		clickhouse.Named("dao", q.DAOID), clickhouse.Named("provider", q.Provider),
		clickhouse.Named("has_related", q.Related != nil),
		clickhouse.Named("related", q.Related != nil && *q.Related),
		clickhouse.Named("has_from", q.UpdatedFrom != nil),
		clickhouse.Named("from", orderedTime(q.UpdatedFrom)),
		clickhouse.Named("has_to", q.UpdatedTo != nil), clickhouse.Named("to", orderedTime(q.UpdatedTo)),
		clickhouse.Named("least", uint64(max(q.MinReplies, 0))), clickhouse.Named("after_key", string(after.Key)),
		clickhouse.Named("after_place", place), clickhouse.Named("limit", q.Limit))
}
