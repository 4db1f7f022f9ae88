package publish

import "time"

const (
	// burst is how much longer publications may take than the pauses between them before they rest.
	burst = 5 * time.Second
	// maxRest bounds the rest after a long publication: what is imported meanwhile should not wait.
	maxRest = time.Second
)

// pace makes publications rest during a long import for as long as they take: it gets its share of the machine, and
// batches are published together. The second of two ballots does not wait.
type pace struct {
	// ended is when the last publication ended, and owed how much longer they took lately than the pauses.
	ended time.Time
	owed  time.Duration
}

// rest returns how long to rest after a publication. One of everything, of which there is one a term, is not counted.
func (p *pace) rest(began, ended time.Time, everything bool) time.Duration {
	p.owed = max(0, p.owed-began.Sub(p.ended))
	if !everything {
		p.owed = min(p.owed+ended.Sub(began), burst+maxRest)
	}
	p.ended = ended
	return max(0, p.owed-burst)
}
