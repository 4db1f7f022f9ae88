package query

import (
	"strconv"

	"pnyx/governance"
)

// TopicOrder is an order of the list of forum topics.
type TopicOrder string

// The orders of forum topics, each ending in the topic's key, descending.
const (
	TopicsByUpdate   TopicOrder = "updatedDesc"
	TopicsByCreation TopicOrder = "createdDesc"
	TopicsByReplies  TopicOrder = "repliesDesc"
)

// Topics selects forum topics of all DAOs.
type Topics struct {
	DAOID       string                `param:"daoId" doc:"Only topics of this DAO." example:"uniswap"`
	Provider    string                `param:"provider" doc:"Only topics from this upstream system." example:"discourse"`
	Related     *bool                 `param:"governanceRelated" doc:"Only topics that are about governance (true) or are not (false)." example:"true"`
	UpdatedFrom *governance.Timestamp `param:"updatedFrom" doc:"Only topics updated at or after this time." example:"2026-01-01"`
	UpdatedTo   *governance.Timestamp `param:"updatedTo" doc:"Only topics updated before this time." example:"2026-07-01"`
	MinReplies  int                   `param:"minReplies" max:"2147483647" doc:"Only topics with at least so many replies." example:"10"`
	Order       TopicOrder            `param:"sort" default:"updatedDesc" doc:"Last updated first, newest first, or most replies first." example:"repliesDesc"`

	Paging[TopicPosition] `default:"25" max:"100"`
}

// Kind implements Page.
func (Topics) Kind() Kind { return KindTopics }

// Scope implements Versioned.
func (q Topics) Scope() Scope { return Scope{KindTopics, q.DAOID} }

// TopicPosition is a place in an order of forum topics.
type TopicPosition struct {
	// Replies is the number of replies in TopicsByReplies, and zero in other orders.
	Replies int64 `msgpack:"n,omitempty"`
	// At is the time that the order compares; nil where it is unknown.
	At  *governance.Timestamp `msgpack:"t,omitempty"`
	Key governance.TopicKey   `msgpack:"k"`
}

// PositionOf returns the place of a topic in the order.
func (q Topics) PositionOf(topic governance.ForumTopic) TopicPosition {
	position := TopicPosition{Key: topic.TopicKey}
	switch q.Order {
	case TopicsByCreation:
		position.At = topic.CreatedAt
	case TopicsByReplies:
		// A count is always a number.
		position.Replies, _ = strconv.ParseInt(string(topic.Replies), 10, 64)
	case TopicsByUpdate:
		position.At = topic.UpdatedAt
	}
	return position
}
