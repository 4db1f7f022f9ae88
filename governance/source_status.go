package governance

import "time"

// SourceState says how following a live source goes.
type SourceState string

// The states of a followed source, the best first; see Reason.
const (
	// SourceLive means that everything upstream has is stored, but for the lag.
	SourceLive        SourceState = "live"
	SourceBackfilling SourceState = "backfilling"
	SourceBehind      SourceState = "behind"
	SourceLimited     SourceState = "limited"
	SourceFailing     SourceState = "failing"
	SourceMissing     SourceState = "missing"
	SourceStale       SourceState = "stale"
	SourceOff         SourceState = "off"
	// SourceImported means that its records come from imports alone.
	SourceImported SourceState = "imported"
)

// SourceStates lists every SourceState.
func SourceStates() []SourceState {
	return []SourceState{
		SourceLive, SourceBackfilling, SourceBehind, SourceLimited, SourceFailing, SourceMissing, SourceStale, SourceOff, SourceImported,
	}
}

// Reason explains a state to callers; nil for one that needs no reason. stopped says that an operator has to decide.
func (s SourceState) Reason(stopped bool) *string {
	if s == SourceFailing && stopped {
		return new("following has stopped until an operator decides")
	}
	return OptionalText(map[SourceState]string{
		SourceBackfilling: "the past is still being read",
		SourceBehind:      "the upstream system itself is behind, or answers too slowly",
		SourceLimited:     "the upstream system allows no more requests for a while",
		SourceFailing:     "requests to the upstream system fail and are repeated",
		SourceMissing:     "the upstream system does not have the source",
		SourceStale:       "nobody has polled the upstream system for a while",
		SourceOff:         "the source is no longer followed",
	}[s])
}

// SourceMode is how records of a source come here.
type SourceMode string

// The modes of a source.
const (
	// ModeFollowed means that upstream is asked for what is new.
	ModeFollowed SourceMode = "followed"
	// ModeImported means that files were read.
	ModeImported SourceMode = "imported"
)

// SourceFreshness says how new the records of one source are.
type SourceFreshness struct {
	Provider       Provider   `json:"provider" msgpack:"provider"`
	ID             string     `json:"id" msgpack:"id"`
	Mode           SourceMode `json:"mode" msgpack:"mode"`
	LastSuccessAt  *Timestamp `json:"lastSuccessAt" msgpack:"lastSuccessAt"`
	NewestRecordAt *Timestamp `json:"newestRecordAt" msgpack:"newestRecordAt"`
}

// Freshness returns how new the records of the source are.
func (s SourceStatus) Freshness() SourceFreshness {
	return SourceFreshness{
		Provider: s.SourceType, ID: s.SourceID, Mode: s.Mode, LastSuccessAt: s.LastSuccessAt, NewestRecordAt: s.NewestRecordAt,
	}
}

// SourceStatus says how following one source goes, and how new its records are.
type SourceStatus struct {
	Provider        Provider          `json:"provider" msgpack:"provider"`
	ID              string            `json:"id" msgpack:"id"`
	Mode            SourceMode        `json:"mode" msgpack:"mode"`
	NewestRecordAt  *Timestamp        `json:"newestRecordAt" msgpack:"newestRecordAt"`
	SourceType      Provider          `json:"sourceType" msgpack:"sourceType"`
	SourceID        string            `json:"sourceId" msgpack:"sourceId"`
	State           SourceState       `json:"state" msgpack:"state"`
	Reason          *string           `json:"reason" msgpack:"reason"`
	ReadThroughAt   *Timestamp        `json:"readThroughAt" msgpack:"readThroughAt"`
	LagSeconds      *uint64           `json:"lagSeconds" msgpack:"lagSeconds"`
	LastSuccessAt   *Timestamp        `json:"lastSuccessAt" msgpack:"lastSuccessAt"`
	NextAttemptAt   *Timestamp        `json:"nextAttemptAt" msgpack:"nextAttemptAt"`
	Backfill        *BackfillProgress `json:"backfill" msgpack:"backfill"`
	Gaps            uint64            `json:"gaps" msgpack:"gaps"`
	Withdrawn       uint64            `json:"withdrawn" msgpack:"withdrawn"`
	Rejected        uint64            `json:"rejected" msgpack:"rejected"`
	Reorganizations uint64            `json:"reorganizations" msgpack:"reorganizations"`
}

// SetLag sets LagSeconds for a time.
func (s *SourceStatus) SetLag(at time.Time) {
	if s.ReadThroughAt == nil {
		s.LagSeconds = nil
		return
	}
	s.LagSeconds = new(uint64(max(0, at.Sub(s.ReadThroughAt.Time())) / time.Second))
}

// BackfillProgress says how much of the past has been read, in proposals, topics or blocks.
type BackfillProgress struct {
	Done  uint64 `json:"done" msgpack:"done"`
	Total uint64 `json:"total" msgpack:"total"`
}

// SourceCount counts the followed sources with one state.
type SourceCount struct {
	State   SourceState `json:"state" msgpack:"state"`
	Sources uint64      `json:"sources" msgpack:"sources"`
}
