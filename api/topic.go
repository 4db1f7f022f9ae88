package api

import (
	"context"
	"strconv"

	"pnyx/cache"
	"pnyx/governance"
)

func (a *API) listTopics(ctx context.Context, values Values) (answer, error) {
	order := values.text("sort")
	request := cache.PageRequest{
		Kind: cache.TopicPage, Order: order,
		Filter: cache.Filter{
			DAOID: values.text("daoId"), Provider: values.text("provider"), Related: values.boolean("governanceRelated"),
			From: values.instant("updatedFrom"), To: values.instant("updatedTo"), Least: values.integer("minReplies"),
		},
	}
	return listPage(ctx, a, values, request, func(t governance.ForumTopic) cache.Position {
		return topicPosition(t, order)
	}, unavailable(errFillFailed)) // there always is a list, if an empty one
}

// topicPosition is a topic's place in an order.
func topicPosition(t governance.ForumTopic, order string) cache.Position {
	at := cache.Position{Key: string(t.TopicKey)}
	switch order {
	case governance.SortCreated:
		at.At = t.CreatedAt
	case governance.SortReplies:
		at.Number, _ = strconv.ParseInt(string(t.Replies), 10, 64) // a count always is a number
	default:
		at.At = t.UpdatedAt
	}
	return at
}

func (a *API) topicDetail(ctx context.Context, values Values) (answer, error) {
	key := values.text("topicKey")
	var detail governance.ForumTopicDetail
	view, err := a.view(ctx, cache.TopicDetailKey(governance.TopicKey(key)), &detail, notFound("topicKey", key))
	return answer{data: detail, view: view, source: sourceRedis}, err
}
