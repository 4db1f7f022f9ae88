package governance

// ItemType says what an event is about.
type ItemType string

// The types of items.
const (
	ProposalItem ItemType = "proposal"
	TopicItem    ItemType = "topic"
	DAOItem      ItemType = "dao"
)

// Confidence says how reliable an event's time is.
type Confidence string

// The degrees of confidence.
const (
	// ExactTime is stated upstream.
	ExactTime Confidence = "exact"
	// DayTime is midnight UTC, because only the day is known.
	DayTime Confidence = "day"
	// DerivedTime is computed from other times.
	DerivedTime Confidence = "derived"
	// DiscoveredTime is when this service first saw the event; no other time is known.
	DiscoveredTime Confidence = "discovered"
)

// Confidences lists every Confidence.
func Confidences() []Confidence {
	return []Confidence{ExactTime, DayTime, DerivedTime, DiscoveredTime}
}

// EventType is what happened: one of the event types of package rules.
type EventType string

// Event is one row of the lifecycle event timeline.
type Event struct {
	// EventID is the id of the event, see EventID.
	EventID string `json:"eventId" msgpack:"eventId"`
	// EventType is what happened.
	EventType EventType `json:"eventType" msgpack:"eventType"`
	// EventTimeMs is when the event happened, as exactly as EventTimeConfidence says.
	EventTimeMs Timestamp `json:"eventTimeMs" msgpack:"eventTimeMs"`
	// EventTimeConfidence says how EventTimeMs is known.
	EventTimeConfidence Confidence `json:"eventTimeConfidence" msgpack:"eventTimeConfidence"`
	// DAOID is the id of the DAO.
	DAOID string `json:"daoId" msgpack:"daoId"`
	// DAOName is the name of the DAO.
	DAOName string `json:"daoName" msgpack:"daoName"`
	// ItemType is the type of the item that the event is about.
	ItemType ItemType `json:"itemType" msgpack:"itemType"`
	// ProposalKey is the key of the proposal.
	ProposalKey *ProposalKey `json:"proposalKey" msgpack:"proposalKey"`
	// Title is the title; null where upstream states none.
	Title *string `json:"title" msgpack:"title"`
	// URL is the address of its page.
	URL *string `json:"url" msgpack:"url"`
	// ImportanceScore is the importance, 0 to 100.
	ImportanceScore int `json:"importanceScore" msgpack:"importanceScore"`
}

// EventRow is an event as the cache stores it: with the second time that lists can be
// ordered by.
type EventRow struct {
	Event
	// DiscoveredAt is when this service first saw the event.
	DiscoveredAt Timestamp `json:"-" msgpack:"discoveredAt"`
}
