package rules

import "pnyx/governance"

// What scores a surface takes.
const (
	latestFrom   = 40
	priorityFrom = 70
	realtimeFrom = 75
)

// SurfacesOf says where a signal shows: everywhere from a score on, and among what
// cannot wait only while there is a deadline to meet.
func SurfacesOf(score int, hasDeadline bool) []governance.Surface {
	surfaces := []governance.Surface{governance.AgentSurface}
	if score >= latestFrom {
		surfaces = append(surfaces, governance.AtlasLatest)
	}
	if score >= priorityFrom {
		surfaces = append(surfaces, governance.AtlasPriority)
	}
	if score >= realtimeFrom && hasDeadline {
		surfaces = append(surfaces, governance.TelegramRealtime)
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
func PriorityOf(score int) governance.Priority {
	priority := governance.Priority{Score: score}
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
