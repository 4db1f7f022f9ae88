package routes

import (
	"pnyx/api/httpcache"
	"pnyx/api/param"
	"pnyx/cache"
	"pnyx/governance"
	"pnyx/governance/query"
)

func topicRoutes() []Route {
	return []Route{
		handleChecked(Route{
			ID: "forum-topics.list", Path: "/v2/forum-topics", Tier: governance.Standard,
			Title:   "List forum topics",
			Summary: "The forum topics of all DAOs, or of one.",
			Returns: []governance.ForumTopic{}, Fresh: httpcache.Published(),
		}, listHandler(query.Topics.PositionOf), func(q query.Topics) []param.Problem {
			return param.CheckOrder("updatedFrom", q.UpdatedFrom, "updatedTo", q.UpdatedTo)
		}),
		handle(Route{
			ID: "forum-topics.detail", Path: "/v2/forum-topics/:topicKey", Tier: governance.Plus,
			Title:   "Get a forum topic",
			Summary: "One forum topic: its first post as text, and the proposals that it is linked to.",
			Returns: governance.ForumTopicDetail{}, Fresh: httpcache.Published(),
		}, viewOf[governance.ForumTopicDetail](func(p topicParams) cache.Key { return cache.TopicDetailKey(p.Key) }, nil)),
	}
}

type topicParams struct {
	Key governance.TopicKey `param:"topicKey" in:"path" doc:"The topic's key." example:"t1_AAAAAAAAAAAAAAAAAAAAAA"`
}
