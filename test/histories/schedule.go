package histories

import (
	"math/rand/v2"
	"slices"
	"time"
)

const (
	// maxCalm bounds the time between the recovery from one fault and the next.
	maxCalm = 6 * time.Second
	// pairOdds is one in how many times two faults come together.
	pairOdds = 4
)

// Breakage is a kind of fault that a schedule may have.
type Breakage struct {
	// Name identifies it in histories and reports.
	Name string
	// Lasts bounds the time until it is repaired; 0 for one that repairs itself.
	Lasts time.Duration
	// Takes names what it takes the only spare of, empty for none. Two that take the same do not happen together.
	Takes string
}

// excludes reports whether two breakages do not happen together.
func (b Breakage) excludes(other Breakage) bool { return b.Takes != "" && b.Takes == other.Takes }

// Event is one point of a schedule.
type Event struct {
	// Calm is the time since the recovery from the event before.
	Calm time.Duration
	// Faults are indexes of one or two breakages that happen together.
	Faults []int
	// Lasts is the time until they are repaired.
	Lasts time.Duration
}

// Schedule returns events for a seed: always the same ones for the same breakages.
func Schedule(seed uint64, breakages []Breakage, events int) (schedule []Event) {
	random := rand.New(rand.NewPCG(seed, 0)) //nolint:gosec // replayable is the point
	for range events {
		e := Event{Calm: time.Second + time.Duration(random.Int64N(int64(maxCalm-time.Second)))}
		order := random.Perm(len(breakages))
		pair := random.IntN(pairOdds) == 0 && len(order) > 1
		share := random.Float64()
		e.Faults = order[:1:1]
		if pair {
			first := breakages[order[0]]
			if i := slices.IndexFunc(order[1:], func(fault int) bool { return !first.excludes(breakages[fault]) }); i >= 0 {
				e.Faults = append(e.Faults, order[1+i])
			}
		}
		for _, fault := range e.Faults {
			e.Lasts = max(e.Lasts, time.Duration(share*float64(breakages[fault].Lasts)))
		}
		schedule = append(schedule, e)
	}
	return schedule
}

// Client returns the random numbers of a client: its own for each seed.
func Client(seed uint64, client int) *rand.Rand {
	return rand.New(rand.NewPCG(seed, uint64(client)+1)) //nolint:gosec // as above; a small number
}
