package rules

import (
	"slices"

	"pnyx/governance"
)

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
	DelegateMoved     = "delegate_moved"
	DAOAnnouncement   = "dao_announcement"
)

// EventType describes one type of event.
type EventType struct {
	// Name is the value of the field eventType.
	Name string
	// Item is what such an event is about, and Meaning one sentence for documents.
	Item    governance.ItemType
	Meaning string
	// Importance is the lowest score of an event of this type, see ImportanceOf.
	Importance int
}

// EventTypes is the closed set of event types.
var EventTypes = table[EventType]("events.json") //nolint:gochecknoglobals // a constant that Go cannot write as one

// EventTypeNames lists the names of EventTypes.
func EventTypeNames() []string {
	var names []string
	for _, eventType := range EventTypes() {
		names = append(names, eventType.Name)
	}
	return names
}

const (
	// maxDiscoveredImportance keeps an event of unknown time, which may be years old, from alerting.
	maxDiscoveredImportance = 10
	// attentionStep is added for each attention threshold that the item reaches.
	attentionStep = 5
)

// ImportanceOf scores an event from 0 to 100: the importance of its type, 0 for an unknown one, and attentionStep
// for each threshold that its item's ballots or posts reach. An unknown time bounds the score.
func ImportanceOf(eventType string, confidence governance.Confidence, attention uint64) int {
	types := EventTypes()
	at := slices.IndexFunc(types, func(t EventType) bool { return t.Name == eventType })
	if at < 0 {
		return 0
	}
	if types[at].Item == governance.TopicItem {
		attention *= 10 // a topic has a tenth as many posts as a proposal has ballots
	}
	score := types[at].Importance
	for _, threshold := range []uint64{100, 1000, 10_000} {
		if attention >= threshold {
			score += attentionStep
		}
	}
	if confidence == governance.DiscoveredTime {
		return min(score, maxDiscoveredImportance)
	}
	return score
}

// EventOfMilestone returns the type of event of a milestone, by upstream's word in lower case; empty for none.
func EventOfMilestone(word string) string {
	switch governance.OutcomeOfState(word) {
	case governance.Executed:
		return ProposalExecuted
	case governance.Canceled:
		return ProposalCanceled
	default:
		return map[string]string{
			"created": ProposalCreated, "activated": VotingStarted, "extended": VotingExtended, "queued": ProposalQueued, "expired": ProposalExpired,
		}[word]
	}
}
