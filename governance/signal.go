package governance

import "encoding/json"

// Signal is one curated signal, as the contract calls it: something that deserves attention.
type Signal struct {
	// SignalID is the id of the signal, see SignalID.
	SignalID string `json:"signalId" msgpack:"signalId"`
	// SignalType is one of the signal types of package rules.
	SignalType string `json:"signalType" msgpack:"signalType"`
	// Priority is how much attention the signal deserves.
	Priority Priority `json:"priority" msgpack:"priority"`
	// Actionability says what a reader can do.
	Actionability string `json:"actionability" msgpack:"actionability"`
	// DAOID is the id of the DAO.
	DAOID string `json:"daoId" msgpack:"daoId"`
	// Title is the title.
	Title string `json:"title" msgpack:"title"`
	// Summary is a short text for lists.
	Summary string `json:"summary" msgpack:"summary"`
	// SourceURL is the address of the page upstream; null where unknown.
	SourceURL *string `json:"sourceUrl" msgpack:"sourceUrl"`
	// DeadlineAtMs is when acting on the signal ends; null for no deadline.
	DeadlineAtMs *Timestamp `json:"deadlineAtMs" msgpack:"deadlineAtMs"`
	// Severity is info, warning or critical.
	Severity string `json:"severity" msgpack:"severity"`
	// ProposalKey is the key of the proposal.
	ProposalKey *ProposalKey `json:"proposalKey" msgpack:"proposalKey"`
	// Evidence is a JSON object: the figures that the signal follows from, kept as
	// text so that imported numbers keep every digit.
	Evidence json.RawMessage `json:"evidence" msgpack:"evidence"`
}

// Priority is how much a signal deserves attention.
type Priority struct {
	// Score is the priority score, 0 to 100.
	Score int `json:"score" msgpack:"score"`
	// Band is the name of the score's range.
	Band string `json:"band" msgpack:"band"`
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

// SignalRow is a signal as the cache stores it: with the time that it is selected by.
type SignalRow struct {
	Signal
	// DetectedAt is when the signal was detected.
	DetectedAt Timestamp `json:"-" msgpack:"detectedAt"`
}
