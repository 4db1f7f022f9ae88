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
	ExactTime Confidence = "exact"
	// DayTime is midnight UTC, because only the day is known.
	DayTime     Confidence = "day"
	DerivedTime Confidence = "derived"
	// DiscoveredTime is when this service first saw the event; no other time is known.
	DiscoveredTime Confidence = "discovered"
)

// Confidences lists every Confidence.
func Confidences() []Confidence { return []Confidence{ExactTime, DayTime, DerivedTime, DiscoveredTime} }

// EventType is what happened: one of the event types of package rules.
type EventType string

// Event is one row of the lifecycle event timeline.
type Event struct {
	EventID             string       `json:"eventId" msgpack:"eventId"`
	EventType           EventType    `json:"eventType" msgpack:"eventType"`
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

// EventRow is an event as the cache stores it: with the second time that lists can be ordered by.
type EventRow struct {
	Event
	// DiscoveredAt is when this service first saw the event.
	DiscoveredAt Timestamp `json:"-" msgpack:"discoveredAt"`
}
