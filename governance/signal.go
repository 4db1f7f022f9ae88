package governance

import "encoding/json"

// SignalType is why something deserves attention: one of the signal types of package rules.
type SignalType string

// Signal is something that deserves attention: a curated signal in the API contract.
type Signal struct {
	SignalID      string       `json:"signalId" msgpack:"signalId"`
	SignalType    SignalType   `json:"signalType" msgpack:"signalType"`
	Priority      Priority     `json:"priority" msgpack:"priority"`
	Actionability string       `json:"actionability" msgpack:"actionability"`
	DAOID         string       `json:"daoId" msgpack:"daoId"`
	Title         string       `json:"title" msgpack:"title"`
	Summary       string       `json:"summary" msgpack:"summary"`
	SourceURL     *string      `json:"sourceUrl" msgpack:"sourceUrl"`
	DeadlineAtMs  *Timestamp   `json:"deadlineAtMs" msgpack:"deadlineAtMs"`
	Severity      string       `json:"severity" msgpack:"severity"`
	ProposalKey   *ProposalKey `json:"proposalKey" msgpack:"proposalKey"`
	// Evidence has the figures that the signal follows from, as text: imported numbers keep every digit.
	Evidence json.RawMessage `json:"evidence" msgpack:"evidence"`
}

// Expired is the actionability of a signal whose deadline has passed.
const Expired = "expired"

// At returns the signal as it is at a time: nothing can be done about it from its deadline on.
func (s Signal) At(now Timestamp) Signal {
	if s.HasExpired(now) {
		s.Actionability = Expired
	}
	return s
}

// HasExpired reports whether the signal has a deadline that is not later than a time.
func (s Signal) HasExpired(now Timestamp) bool {
	return s.DeadlineAtMs != nil && *s.DeadlineAtMs <= now
}

// PriorityBand is the name of a range of scores: one of the bands of package rules.
type PriorityBand string

// Priority is how much a signal deserves attention.
type Priority struct {
	Score int          `json:"score" msgpack:"score"`
	Band  PriorityBand `json:"band" msgpack:"band"`
}

// Surface is a view of the signals for one kind of delivery.
type Surface string

// The surfaces, from every signal to the few that are urgent and still allow an action; see rules.SurfacesOf.
const (
	AgentSurface     Surface = "agent"
	AtlasLatest      Surface = "atlas_latest"
	AtlasPriority    Surface = "atlas_priority"
	TelegramRealtime Surface = "telegram_realtime"
)

// Surfaces lists every Surface.
func Surfaces() []Surface {
	return []Surface{AgentSurface, AtlasLatest, AtlasPriority, TelegramRealtime}
}

// SignalRow is a signal with the time that queries filter and sort by, as the cache stores it.
type SignalRow struct {
	Signal
	DetectedAt Timestamp `json:"-" msgpack:"detectedAt"`
	// Recorded says that someone recorded the signal: its title is shown as it is.
	Recorded bool `json:"-" msgpack:"-"`
}
