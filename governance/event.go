package governance

import "slices"

// ItemType says what an event is about.
type ItemType string

// The types of items.
const (
	ProposalItem ItemType = "proposal"
	TopicItem    ItemType = "topic"
	DAOItem      ItemType = "dao"
)

// Confidence says how an event's time is known.
type Confidence string

// The degrees of confidence.
const (
	// ExactTime is stated upstream.
	ExactTime Confidence = "exact"
	// DayTime is midnight UTC of the day, of which alone is known.
	DayTime Confidence = "day"
	// DerivedTime is worked out from other times.
	DerivedTime Confidence = "derived"
	// DiscoveredTime is when the event was first seen here, as nothing else is known.
	DiscoveredTime Confidence = "discovered"
)

// Confidences lists every Confidence.
func Confidences() []Confidence {
	return []Confidence{ExactTime, DayTime, DerivedTime, DiscoveredTime}
}

// The types of events.
const (
	ProposalCreated   = "proposal_created"
	VotingStarted     = "voting_started"
	VotingExtended    = "voting_extended"
	QuorumReached     = "quorum_reached"
	VotingEnded       = "voting_ended"
	ProposalQueued    = "proposal_queued"
	ProposalExecuted  = "proposal_executed"
	ProposalCanceled  = "proposal_canceled"
	ProposalExpired   = "proposal_expired"
	ForumTopicCreated = "forum_topic_created"
	DAOAnnouncement   = "dao_announcement"
)

// EventType describes one type of event.
type EventType struct {
	Name    string
	Item    ItemType
	Meaning string
	// Importance is what an event of this type scores at least, see ImportanceOf.
	Importance int
}

// EventTypes is the closed set of event types.
func EventTypes() []EventType {
	return []EventType{
		{ProposalCreated, ProposalItem, "A proposal was published.", 40},
		{VotingStarted, ProposalItem, "Ballots are accepted from now on.", 50},
		{VotingExtended, ProposalItem, "The end of the voting was put off, as upstream recorded.", 50},
		{QuorumReached, ProposalItem, "With this ballot the counted power reached the quorum.", 60},
		{VotingEnded, ProposalItem, "No ballot is accepted any more.", 70},
		{ProposalQueued, ProposalItem, "A proposal that passed waits for its execution.", 60},
		{ProposalExecuted, ProposalItem, "What was decided was carried out.", 80},
		{ProposalCanceled, ProposalItem, "A proposal was withdrawn or stopped.", 70},
		{ProposalExpired, ProposalItem, "A proposal that passed was not carried out in time.", 60},
		{ForumTopicCreated, TopicItem, "A discussion was opened in the forum.", 20},
		{DAOAnnouncement, DAOItem, "The DAO made something known; recorded by hand, never derived.", 50},
	}
}

// EventTypeNames lists the names of EventTypes.
func EventTypeNames() []string {
	var names []string
	for _, eventType := range EventTypes() {
		names = append(names, eventType.Name)
	}
	return names
}

const (
	// mostDiscovered bounds the importance of an event whose time is not known: nobody
	// should be woken by what may have happened years ago.
	mostDiscovered = 10
	// attentionStep is what each tenfold of the attention that an item got adds.
	attentionStep = 5
)

// ImportanceOf scores an event from 0 to 100: what its type is worth, and 5 more
// for each of the thresholds that its item's ballots or posts reach (100, 1,000 and
// 10,000 ballots; 10, 100 and 1,000 posts); 10 at the most where only the time of its
// discovery is known.
func ImportanceOf(eventType string, confidence Confidence, attention uint64) int {
	types := EventTypes()
	at := slices.IndexFunc(types, func(t EventType) bool { return t.Name == eventType })
	if at < 0 {
		return 0
	}
	threshold := uint64(100)
	if types[at].Item == TopicItem {
		threshold = 10
	}
	score := types[at].Importance
	for range 3 {
		if attention >= threshold {
			score += attentionStep
		}
		threshold *= 10
	}
	if confidence == DiscoveredTime {
		return min(score, mostDiscovered)
	}
	return score
}

// EventRow is an event as the cache keeps it: beside what is shown, the second
// time by which it may be ordered.
type EventRow struct {
	Event
	DiscoveredAt Timestamp `json:"-" msgpack:"discoveredAt"`
}

// Time bases of the event list.
const (
	ByEventTime      = "eventTime"
	ByDiscoveredTime = "discoveredTime"
)
