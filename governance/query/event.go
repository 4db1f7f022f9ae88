package query

import "pnyx/governance"

// EventTime is one of the two times of an event.
type EventTime string

// The times of an event.
const (
	EventTimeOccurred   EventTime = "eventTime"
	EventTimeDiscovered EventTime = "discoveredTime"
)

// Events selects events in a window of time: the newest first, events of one time by id,
// descending.
type Events struct {
	DAOID         string                 `param:"daoId" doc:"Only events of this DAO." example:"uniswap"`
	From          *governance.Timestamp  `param:"from" required:"true" doc:"Only events at or after this time." example:"2026-01-01"`
	To            *governance.Timestamp  `param:"to" required:"true" doc:"Only events before this time." example:"2026-02-01"`
	Types         []governance.EventType `param:"eventType" doc:"Only events of these types." example:"voting_ended,quorum_reached"`
	Basis         EventTime              `param:"timeBasis" default:"eventTime" doc:"The time that the window and the order go by: when it happened, or when it was first seen here." example:"discoveredTime"`
	MinImportance int                    `param:"importanceMin" max:"100" doc:"Only events of at least this importance." example:"50"`

	Paging[EventPosition] `default:"100" max:"200"`
}

// Kind implements Page.
func (Events) Kind() Kind { return KindEvents }

// Scope implements Versioned.
func (q Events) Scope() Scope { return Scope{KindEvents, q.DAOID} }

// EventPosition is a place in the list of events.
type EventPosition struct {
	// At is the event's time by the query's basis.
	At governance.Timestamp `msgpack:"t"`
	// ID is the event's id.
	ID string `msgpack:"k"`
}

// PositionOf returns the place of an event in the list.
func (q Events) PositionOf(event governance.EventRow) EventPosition {
	if q.Basis == EventTimeDiscovered {
		return EventPosition{At: event.DiscoveredAt, ID: event.EventID}
	}
	return EventPosition{At: event.EventTimeMs, ID: event.EventID}
}
