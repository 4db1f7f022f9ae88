package rules

import "pnyx/governance"

// Lowest scores that the surfaces show.
const (
	latestFrom   = 40
	priorityFrom = 70
	realtimeFrom = 75
)

// SurfacesOf returns the surfaces that show a signal.
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

// PriorityBand is a named range of priority scores.
type PriorityBand struct {
	Name governance.PriorityBand
	// From is the lowest score of the band.
	From int
}

// PriorityBands lists the bands, the highest first.
func PriorityBands() []PriorityBand {
	return []PriorityBand{{"critical", 85}, {"high", 70}, {"medium", 45}, {"low", 0}}
}

// PriorityOf returns a score with its band.
func PriorityOf(score int) governance.Priority {
	for _, band := range PriorityBands() {
		if score >= band.From {
			return governance.Priority{Score: score, Band: band.Name}
		}
	}
	return governance.Priority{Score: score}
}

// Severities of derived signals.
const (
	SeverityInfo     = "info"
	SeverityWarning  = "warning"
	SeverityCritical = "critical"
)
