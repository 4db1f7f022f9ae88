package governance

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

// What scores a surface takes.
const (
	latestFrom   = 40
	priorityFrom = 70
	realtimeFrom = 75
)

// SurfacesOf says where a signal shows: everywhere from a score on, and among what
// cannot wait only while there is a deadline to meet.
func SurfacesOf(score int, hasDeadline bool) []Surface {
	surfaces := []Surface{AgentSurface}
	if score >= latestFrom {
		surfaces = append(surfaces, AtlasLatest)
	}
	if score >= priorityFrom {
		surfaces = append(surfaces, AtlasPriority)
	}
	if score >= realtimeFrom && hasDeadline {
		surfaces = append(surfaces, TelegramRealtime)
	}
	return surfaces
}

// PriorityBand is a range of priority scores with a name.
type PriorityBand struct {
	Name string
	// From is the lowest score of the band.
	From int
}

// PriorityBands lists the bands, the highest first.
func PriorityBands() []PriorityBand {
	return []PriorityBand{{"critical", 85}, {"high", 70}, {"medium", 45}, {"low", 0}}
}

// PriorityOf returns a score with the band it falls into.
func PriorityOf(score int) Priority {
	priority := Priority{Score: score}
	for _, band := range PriorityBands() {
		if score >= band.From {
			priority.Band = band.Name
			break
		}
	}
	return priority
}

// Severities of derived signals.
const (
	SeverityInfo     = "info"
	SeverityWarning  = "warning"
	SeverityCritical = "critical"
)

// Actionabilities of derived signals: what there is to do.
const (
	VoteNow = "vote_now"
	Execute = "execute"
	Review  = "review"
	Monitor = "monitor"
)

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
