package governance

import "encoding/json"

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

// ForumTopicDetail is the payload of one forum topic: the fields of its row in the
// list, and what a list leaves out.
type ForumTopicDetail struct {
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
	// BodyText is the whole first post as plain text.
	BodyText *string `json:"bodyText" msgpack:"bodyText"`
	// Participants is how many people have posted; null where upstream does not say.
	Participants *Decimal   `json:"participants" msgpack:"participants"`
	LastPostAt   *Timestamp `json:"lastPostAt" msgpack:"lastPostAt"`
	// RelatedProposals are those that name the topic as their discussion, and those
	// that its first post links.
	RelatedProposals []RelatedProposal `json:"relatedProposals" msgpack:"relatedProposals"`
}

// RelatedProposal is a proposal that a topic is about.
type RelatedProposal struct {
	ProposalKey ProposalKey `json:"proposalKey" msgpack:"proposalKey"`
	Title       *string     `json:"title" msgpack:"title"`
}

// Event is one row of the lifecycle event timeline.
type Event struct {
	EventID             string       `json:"eventId" msgpack:"eventId"`
	EventType           string       `json:"eventType" msgpack:"eventType"`
	EventTimeMs         Timestamp    `json:"eventTimeMs" msgpack:"eventTimeMs"`
	EventTimeConfidence Confidence   `json:"eventTimeConfidence" msgpack:"eventTimeConfidence"`
	DAOID               string       `json:"daoId" msgpack:"daoId"`
	DAOName             string       `json:"daoName" msgpack:"daoName"`
	ItemType            ItemType     `json:"itemType" msgpack:"itemType"`
	ProposalKey         *ProposalKey `json:"proposalKey" msgpack:"proposalKey"`
	Title               *string      `json:"title" msgpack:"title"`
	URL                 *string      `json:"url" msgpack:"url"`
	ImportanceScore     int          `json:"importanceScore" msgpack:"importanceScore"`
}

// Signal is one row of the curated signals.
type Signal struct {
	SignalID      string       `json:"signalId" msgpack:"signalId"`
	SignalType    string       `json:"signalType" msgpack:"signalType"`
	Priority      Priority     `json:"priority" msgpack:"priority"`
	Actionability string       `json:"actionability" msgpack:"actionability"`
	DAOID         string       `json:"daoId" msgpack:"daoId"`
	Title         string       `json:"title" msgpack:"title"`
	Summary       string       `json:"summary" msgpack:"summary"`
	SourceURL     *string      `json:"sourceUrl" msgpack:"sourceUrl"`
	DeadlineAtMs  *Timestamp   `json:"deadlineAtMs" msgpack:"deadlineAtMs"`
	Severity      string       `json:"severity" msgpack:"severity"`
	ProposalKey   *ProposalKey `json:"proposalKey" msgpack:"proposalKey"`
	// Evidence is a JSON object: the figures that the signal follows from, kept as
	// text so that imported numbers keep every digit.
	Evidence json.RawMessage `json:"evidence" msgpack:"evidence"`
}

// Priority is how much a signal deserves attention.
type Priority struct {
	Score int    `json:"score" msgpack:"score"`
	Band  string `json:"band" msgpack:"band"`
}
