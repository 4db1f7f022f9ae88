package governance

// ForumTopic is one row of the forum topic list.
type ForumTopic struct {
	// TopicKey is the key of the topic.
	TopicKey TopicKey `json:"topicKey" msgpack:"topicKey"`
	// Identity says where it comes from.
	Identity Identity `json:"identity" msgpack:"identity"`
	// Title is the title.
	Title string `json:"title" msgpack:"title"`
	// Summary is a short text for lists.
	Summary *string `json:"summary" msgpack:"summary"`
	// URL is the address of its page.
	URL string `json:"url" msgpack:"url"`
	// Author is the user who opened the topic; null where unknown.
	Author *string `json:"author" msgpack:"author"`
	// Category is the name of the forum category; null for none.
	Category *string `json:"category" msgpack:"category"`
	// Tags are the tags of the topic, as upstream spells them.
	Tags []string `json:"tags" msgpack:"tags"`
	// RelevanceScore says how likely the topic is about governance, 0 to 100.
	RelevanceScore int `json:"relevanceScore" msgpack:"relevanceScore"`
	// Replies counts the posts after the first.
	Replies Decimal `json:"replies" msgpack:"replies"`
	// Posts counts all posts.
	Posts Decimal `json:"posts" msgpack:"posts"`
	// Likes counts the likes of all posts.
	Likes Decimal `json:"likes" msgpack:"likes"`
	// Views counts the views of the topic.
	Views Decimal `json:"views" msgpack:"views"`
	// CreatedAt is when it was created; null where unknown.
	CreatedAt *Timestamp `json:"createdAt" msgpack:"createdAt"`
	// UpdatedAt is when it last changed; null where unknown.
	UpdatedAt *Timestamp `json:"updatedAt" msgpack:"updatedAt"`
}

// ForumTopicDetail is the payload of one forum topic: the fields of its row in the
// list, and what a list leaves out.
type ForumTopicDetail struct {
	ForumTopic
	// BodyText is the whole first post as plain text.
	BodyText *string `json:"bodyText" msgpack:"bodyText"`
	// Participants is how many people have posted; null where upstream does not say.
	Participants *Decimal `json:"participants" msgpack:"participants"`
	// LastPostAt is the time of the last post; null where unknown.
	LastPostAt *Timestamp `json:"lastPostAt" msgpack:"lastPostAt"`
	// RelatedProposals are those that name the topic as their discussion, and those
	// that its first post links.
	RelatedProposals []RelatedProposal `json:"relatedProposals" msgpack:"relatedProposals"`
}

// RelatedProposal is a proposal that a topic is about.
type RelatedProposal struct {
	// ProposalKey is the key of the proposal.
	ProposalKey ProposalKey `json:"proposalKey" msgpack:"proposalKey"`
	// Title is the title; null where upstream states none.
	Title *string `json:"title" msgpack:"title"`
}
