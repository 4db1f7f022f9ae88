package drills

import (
	"time"

	"pnyx/test/processclock"
)

const hour = time.Hour

// clockDrills set the clocks of single machines wrong, and right again, but no monotonic ones.
func clockDrills() []drill {
	jump := func(name, who string, by time.Duration, process func(*deployment) int) drill {
		word := " ahead"
		if by < 0 {
			word = " behind"
		}
		return drill{
			name: name + word, fault: who + " jumps an hour" + word + ", and back after 12 s", lasts: 12 * time.Second,
			clockIsWrong: true,
			breaks:       func(s *deployment) func() { return s.setClock(process(s), by) },
		}
	}
	api := func(s *deployment) int { return s.apis[0].PID() }
	worker := func(s *deployment) int { return s.workers[0].PID() }
	return []drill{
		jump("API's clock", "the clock of the API node", hour, api),
		jump("API's clock", "the clock of the API node", -hour, api),
		jump("Worker's clock", "the clock of the worker", hour, worker),
		jump("Worker's clock", "the clock of the worker", -hour, worker),
		jump("Redis' clock", "the clock of Redis", hour, func(s *deployment) int { return s.redis.PID() }),
		jump("Redis' clock", "the clock of Redis", -hour, func(s *deployment) int { return s.redis.PID() }),
		jump("ClickHouse's clock", "the clock of the engine", hour, func(s *deployment) int { return s.engine.Instance().EnginePID }),
		jump("ClickHouse's clock", "the clock of the engine", -hour, func(s *deployment) int { return s.engine.Instance().EnginePID }),
	}
}

// setClock sets the clock of a process wrong; mend sets it right.
func (s *deployment) setClock(pid int, by time.Duration) (mend func()) {
	s.tb.Helper()
	processclock.Set(s.tb, pid, by)
	return func() { processclock.Set(s.tb, pid, 0) }
}
