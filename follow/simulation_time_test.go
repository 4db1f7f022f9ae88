package follow_test

import (
	"container/heap"
	"context"
	"runtime"
	"runtime/metrics"
	"sync"
	"time"
)

// quantum is the least step of simulated time: waits that end within one end together.
const quantum = 500 * time.Millisecond

// simulatedTime moves on only when nothing is at work.
type simulatedTime struct {
	// idle reports whether no statement runs in ClickHouse.
	idle func() bool

	mu    sync.Mutex
	now   time.Time
	waits waits
	ended chan struct{}
}

// simulatedWait is a wait until a time.
type simulatedWait struct {
	until time.Time
	over  chan struct{}
}

// waits is a heap of them, the earliest first.
type waits []simulatedWait

func (w waits) Len() int           { return len(w) }
func (w waits) Less(i, j int) bool { return w[i].until.Before(w[j].until) }
func (w waits) Swap(i, j int)      { w[i], w[j] = w[j], w[i] }
func (w *waits) Push(one any)      { *w = append(*w, one.(simulatedWait)) } //nolint:errcheck,forcetypeassert // heap.Push alone calls it
func (w *waits) Pop() any {
	last := (*w)[len(*w)-1]
	*w = (*w)[:len(*w)-1]
	return last
}

// Now returns the simulated time.
func (s *simulatedTime) Now() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now
}

// wait is a wait of the clock.
func (s *simulatedTime) wait(ctx context.Context, pause time.Duration) error {
	if pause > 0 {
		s.mu.Lock()
		one := simulatedWait{s.now.Add(pause), make(chan struct{})}
		heap.Push(&s.waits, one)
		s.mu.Unlock()
		select {
		case <-ctx.Done():
		case <-s.ended:
		case <-one.over:
		}
	}
	return context.Cause(ctx)
}

// end ends all waits, those to come included.
func (s *simulatedTime) end() { close(s.ended) }

// waiting returns the number of waits.
func (s *simulatedTime) waiting() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.waits)
}

// step moves the time to the end of the next wait, but at most to a limit, and ends the waits
// until then.
func (s *simulatedTime) step(limit time.Time) {
	s.settle()
	s.mu.Lock()
	defer s.mu.Unlock()
	to := s.now.Add(quantum)
	if len(s.waits) > 0 && s.waits[0].until.After(to) {
		to = s.waits[0].until
	}
	if to.After(limit) {
		to = limit
	}
	s.now = to
	for len(s.waits) > 0 && !s.waits[0].until.After(to) {
		close(heap.Pop(&s.waits).(simulatedWait).over) //nolint:errcheck,forcetypeassert // nothing else is in it
	}
}

// settle waits until no other goroutine runs or could, and ClickHouse does nothing: all wait
// for the clock, or for one that does.
func (s *simulatedTime) settle() {
	work := []metrics.Sample{{Name: "/sched/goroutines/runnable:goroutines"}, {Name: "/sched/goroutines/running:goroutines"}}
	pause := time.NewTimer(0)
	for {
		runtime.Gosched()
		isIdle := s.idle() // before the goroutines: its answer wakes one
		metrics.Read(work)
		switch {
		case !isIdle:
			pause.Reset(50 * time.Microsecond)
			<-pause.C
		case work[0].Value.Uint64() == 0 && work[1].Value.Uint64() <= 1:
			return
		}
	}
}
