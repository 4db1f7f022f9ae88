package governance

import "time"

// SourceState says how following a live source goes.
type SourceState string

// The states of a followed source, the best first.
const (
	// SourceLive means that everything upstream has is stored, but for the lag.
	SourceLive SourceState = "live"
	// SourceBackfilling means that the past is still being read.
	SourceBackfilling SourceState = "backfilling"
	// SourceBehind means that upstream itself lags, or is polled less often than it should
	// be.
	SourceBehind SourceState = "behind"
	// SourceLimited means that upstream allows no more requests for a while.
	SourceLimited SourceState = "limited"
	// SourceFailing means that requests fail.
	SourceFailing SourceState = "failing"
	// SourceStale means that nobody polls the source.
	SourceStale SourceState = "stale"
	// SourceOff means that the source is no longer followed.
	SourceOff SourceState = "off"
)

// SourceStates lists every SourceState.
func SourceStates() []SourceState {
	return []SourceState{
		SourceLive, SourceBackfilling, SourceBehind, SourceLimited, SourceFailing, SourceStale, SourceOff,
	}
}

// Reason explains a state in words for callers; nil for a state that needs none. stopped
// says that nothing is tried again before an operator has decided.
func (s SourceState) Reason(stopped bool) *string {
	reasons := map[SourceState]string{
		SourceBackfilling: "the past is still being read",
		SourceBehind:      "the upstream system itself is behind, or answers too slowly",
		SourceLimited:     "the upstream system allows no more requests for a while",
		SourceFailing:     "requests to the upstream system fail and are repeated",
		SourceStale:       "nobody has polled the upstream system for a while",
		SourceOff:         "the source is no longer followed",
	}
	reason, needed := reasons[s]
	if s == SourceFailing && stopped {
		reason = "following has stopped until an operator decides"
	}
	if !needed {
		return nil
	}
	return &reason
}

// SourceStatus says how following one live source goes.
type SourceStatus struct {
	// SourceType is the upstream system.
	SourceType Provider `json:"sourceType" msgpack:"sourceType"`
	// SourceID is the source's id there.
	SourceID string `json:"sourceId" msgpack:"sourceId"`
	// State says how it goes.
	State SourceState `json:"state" msgpack:"state"`
	// Reason explains a state other than live.
	Reason *string `json:"reason" msgpack:"reason"`
	// ReadThroughAt is the time up to which everything that upstream had then is stored;
	// null before the first poll.
	ReadThroughAt *Timestamp `json:"readThroughAt" msgpack:"readThroughAt"`
	// LagSeconds is the time since ReadThroughAt.
	LagSeconds *uint64 `json:"lagSeconds" msgpack:"lagSeconds"`
	// LastSuccessAt is the last poll that succeeded.
	LastSuccessAt *Timestamp `json:"lastSuccessAt" msgpack:"lastSuccessAt"`
	// NextAttemptAt is null unless the last poll failed.
	NextAttemptAt *Timestamp `json:"nextAttemptAt" msgpack:"nextAttemptAt"`
	// Backfill is how far the past has been read; null when all of it has been.
	Backfill *BackfillProgress `json:"backfill" msgpack:"backfill"`
	// Gaps counts the items that only a second look found.
	Gaps uint64 `json:"gaps" msgpack:"gaps"`
	// Withdrawn counts the items that upstream took back.
	Withdrawn uint64 `json:"withdrawn" msgpack:"withdrawn"`
	// Rejected counts the items of the last 90 days that could not be read.
	Rejected uint64 `json:"rejected" msgpack:"rejected"`
	// Reorganizations counts those of the chain.
	Reorganizations uint64 `json:"reorganizations" msgpack:"reorganizations"`
}

// SetLag sets LagSeconds for a time.
func (s *SourceStatus) SetLag(at time.Time) {
	if s.ReadThroughAt == nil {
		s.LagSeconds = nil
		return
	}
	lag := uint64(max(0, at.Sub(s.ReadThroughAt.Time())) / time.Second)
	s.LagSeconds = &lag
}

// BackfillProgress says how much of the past has been read. The unit is the provider's:
// proposals, topics or blocks.
type BackfillProgress struct {
	// Done is what has been read.
	Done uint64 `json:"done" msgpack:"done"`
	// Total is all there is; 0 while unknown.
	Total uint64 `json:"total" msgpack:"total"`
}

// SourceCount counts the followed sources with one state.
type SourceCount struct {
	// State is the state.
	State SourceState `json:"state" msgpack:"state"`
	// Sources is the number of sources.
	Sources uint64 `json:"sources" msgpack:"sources"`
}
