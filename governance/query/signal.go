package query

import "pnyx/governance"

// SignalOrder is an order of the list of signals.
type SignalOrder string

// The orders of signals.
const (
	// SignalsByPriority lists the highest priority first, equal ones by detection.
	SignalsByPriority  SignalOrder = "priorityDesc"
	SignalsByDetection SignalOrder = "detectedDesc"
	// SignalsByDeadline lists the nearest deadline to come first, then past ones, the latest
	// first, and those without one last.
	SignalsByDeadline SignalOrder = "deadlineAsc"
)

// Signals selects signals that were detected in a window of time.
type Signals struct {
	DAOID       string                  `param:"daoId" doc:"Of this DAO alone." example:"uniswap"`
	From        *governance.Timestamp   `param:"from" required:"true" doc:"Detected at or after this time." example:"2026-01-01"`
	To          *governance.Timestamp   `param:"to" required:"true" doc:"Detected before this time." example:"2026-02-01"`
	Types       []governance.SignalType `param:"signalType" doc:"Of these types." example:"proposal_deadline_reminder"`
	MinPriority int                     `param:"priorityMin" max:"100" doc:"Of at least this priority score." example:"70"`
	Surface     governance.Surface      `param:"surface" default:"agent" doc:"The view: agent has every signal, the others less and less." example:"atlas_priority"`
	Order       SignalOrder             `param:"sort" default:"priorityDesc" doc:"Highest priority, latest detection or next deadline first; past deadlines, then none, last." example:"deadlineAsc"`

	Paging[SignalPosition] `default:"50" max:"100"`
}

// Kind implements Page.
func (Signals) Kind() Kind { return KindSignals }

// Scope implements Versioned.
func (q Signals) Scope() Scope { return Scope{KindSignals, q.DAOID} }

// SignalPosition is a place in an order of signals.
type SignalPosition struct {
	Score int64 `msgpack:"n,omitempty"`
	// At is when the signal was detected or, in SignalsByDeadline, its deadline; nil for none.
	At *governance.Timestamp `msgpack:"t,omitempty"`
	// ID is the signal's id.
	ID string `msgpack:"k"`
	// AsOf is the time of the first page: SignalsByDeadline compares the deadlines of every page with it.
	AsOf *governance.Timestamp `msgpack:"a,omitempty"`
}

// PositionOf returns the place of a signal in the order.
func (q Signals) PositionOf(signal governance.SignalRow) SignalPosition {
	position := SignalPosition{
		Score: int64(signal.Priority.Score), At: &signal.DetectedAt, ID: signal.SignalID,
	}
	if q.Order == SignalsByDeadline {
		position.At = signal.DeadlineAtMs
	}
	return position
}
