package governance

// ForumTopic is one row of the forum topic list.
type ForumTopic struct {
	TopicKey       TopicKey   `json:"topicKey" msgpack:"topicKey"`
	Identity       Identity   `json:"identity" msgpack:"identity"`
	Title          string     `json:"title" msgpack:"title"`
	Summary        *string    `json:"summary" msgpack:"summary"`
	URL            string     `json:"url" msgpack:"url"`
	Author         *string    `json:"author" msgpack:"author"`
	Category       *string    `json:"category" msgpack:"category"`
	Tags           []string   `json:"tags" msgpack:"tags"`
	RelevanceScore int        `json:"relevanceScore" msgpack:"relevanceScore"`
	Replies        Decimal    `json:"replies" msgpack:"replies"`
	Posts          Decimal    `json:"posts" msgpack:"posts"`
	Likes          Decimal    `json:"likes" msgpack:"likes"`
	Views          Decimal    `json:"views" msgpack:"views"`
	CreatedAt      *Timestamp `json:"createdAt" msgpack:"createdAt"`
	UpdatedAt      *Timestamp `json:"updatedAt" msgpack:"updatedAt"`
}

// ForumTopicDetail is the payload of one forum topic: its row in the list, and what a list leaves out.
type ForumTopicDetail struct {
	ForumTopic
	BodyText         *string           `json:"bodyText" msgpack:"bodyText"`
	Participants     *Decimal          `json:"participants" msgpack:"participants"`
	LastPostAt       *Timestamp        `json:"lastPostAt" msgpack:"lastPostAt"`
	RelatedProposals []RelatedProposal `json:"relatedProposals" msgpack:"relatedProposals"`
}

// RelatedProposal is a proposal that a topic is about.
type RelatedProposal struct {
	ProposalKey ProposalKey `json:"proposalKey" msgpack:"proposalKey"`
	Title       *string     `json:"title" msgpack:"title"`
}
