package governance

import "encoding/json"

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

// Surface is a view of the signals for one kind of delivery.
type Surface string

// The surfaces.
const (
	// AgentSurface has every signal.
	AgentSurface Surface = "agent"
	// AtlasLatest has what is worth reading.
	AtlasLatest Surface = "atlas_latest"
	// AtlasPriority has what comes first.
	AtlasPriority Surface = "atlas_priority"
	// TelegramRealtime has what cannot wait: few, and with something left to do.
	TelegramRealtime Surface = "telegram_realtime"
)

// Surfaces lists every Surface.
func Surfaces() []Surface {
	return []Surface{AgentSurface, AtlasLatest, AtlasPriority, TelegramRealtime}
}

// Orders of the signal list.
const (
	PriorityDescending = "priorityDesc"
	DetectedDescending = "detectedDesc"
	DeadlineAscending  = "deadlineAsc"
)

// SignalRow is a signal as the cache keeps it: beside what is shown, the time by
// which it is selected.
type SignalRow struct {
	Signal
	DetectedAt Timestamp `json:"-" msgpack:"detectedAt"`
}
