package follow_test

import (
	"container/heap"
	"context"
	"fmt"
	"log/slog"
	"os"
	"runtime"
	"runtime/metrics"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"pnyx/follow"
	"pnyx/test/env"
	"pnyx/warehouse"
)

// TestThousandDAOs follows a thousand spaces of a hub, 500 Governors on 20 chains and 500
// forums with the real connectors for a simulated time, and prints what that costs. Time
// stands still while anything is at work, ClickHouse included, and else moves to the next
// poll. Everything that is cast has to be in the warehouse in the end.
func TestThousandDAOs(t *testing.T) {
	stated := os.Getenv("PNYX_TEST_FOLLOW_SIM")
	if stated == "" {
		t.Skip("PNYX_TEST_FOLLOW_SIM is not set: make follow-sim follows a thousand DAOs")
	}
	length := env.Must(time.ParseDuration(stated))(t)
	s, url := startSimulation(t, simulatedSize{spaces: 1000, chains: 20, forums: 500})
	began := time.Now()
	s.run(time.Hour) // reads the past
	t.Logf("the past of all is read and an hour has passed after %s", time.Since(began).Round(time.Second))
	atStart := s.memory()
	s.count()
	from := s.time.Now()
	s.busy = true
	for left := length; left > 0; left -= time.Hour {
		s.run(min(left, time.Hour))
		t.Logf("%s of simulated time after %s: %d MiB of memory",
			s.time.Now().Sub(from).Round(time.Minute), time.Since(began).Round(time.Second), s.memory()>>20)
	}
	s.busy = false
	requests, refused := s.count()
	s.run(5 * time.Minute) // everything that was cast is read
	for kind, of := range requests {
		t.Logf("%s: %.0f requests a day to each host, %d refused", kind,
			float64(of)/float64(s.hosts(kind))*24/length.Hours(), refused[kind])
	}
	t.Logf("memory: %d MiB in the first hour, %d MiB at the end, with the simulated upstreams", atStart>>20, s.memory()>>20)
	conn := env.ConnectWarehouse(t, url)
	for _, kind := range s.kinds() {
		var found uint64
		var lags []float64
		env.MustDo(t, conn.QueryRow(t.Context(), kind.lags, from).Scan(&found, &lags))
		t.Logf("%s: %d of %d in the warehouse, after %.1f s in the median, %.1f s for 99 of 100, %.1f s at most",
			kind.name, found, kind.cast, lags[0], lags[1], lags[2])
		if int(found) != kind.cast {
			t.Errorf("%s: got %d, want %d", kind.name, found, kind.cast)
		}
	}
}

// memory returns what the process has from the system for its heap after a collection.
func (*simulation) memory() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapInuse
}

// startSimulation follows simulated upstreams until the test ends. Every poller waits for its
// first poll.
func startSimulation(t *testing.T, size simulatedSize) (s *simulation, url string) {
	t.Helper()
	instance := env.SharedEngine(t)
	url = instance.URL(env.MigratedDatabase(t, instance))
	store := env.Store(t, env.EmbeddedRedis(t))
	w := env.Must(warehouse.Open(t.Context(), warehouse.Options{URL: url, QueryTimeout: time.Minute, Logger: slog.New(slog.DiscardHandler)}))(t)
	t.Cleanup(func() { _ = w.Close() })
	s = newSimulation(t, w, size)
	f := follow.New(follow.Options{
		Warehouse: w, Store: store, Clock: s.clock, Logger: slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelWarn})),
		Metrics: prometheus.NewRegistry(),
	})
	upstreams := s.upstreams()
	f.Set(upstreams...)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		f.Run(ctx)
	}()
	t.Cleanup(func() {
		stop()
		s.time.end()
		<-ended
	})
	pollers := 0
	for _, u := range upstreams {
		pollers += len(u.Pollers(&follow.Journal{}))
	}
	env.Until(t, func() error { // every poller waits for its first poll
		if got := s.time.waiting(); got < pollers {
			return fmt.Errorf("got %d pollers that wait, want %d", got, pollers)
		}
		return nil
	})
	return s, url
}

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

func (s *simulatedTime) Now() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now
}

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
