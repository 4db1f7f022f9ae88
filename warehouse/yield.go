package warehouse

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// servingFor is how long after a read that a caller waited for the next is expected.
	servingFor = 500 * time.Millisecond
	// maxTurnWait bounds how long a statement waits for its turn, so that publications
	// go on however many callers there are.
	maxTurnWait = 250 * time.Millisecond
	// maxBackgroundWait is the same for a statement that no result waits for: the sorted copy of
	// a DAO of millions of votes takes a minute, and the copies of proposals have to follow the ballots.
	maxBackgroundWait = 5 * time.Second
)

// turns makes statements that no caller waits for yield to those that one does: meanwhile
// they run one at a time, on half of the threads.
type turns struct {
	// threads is the number of threads of a statement that yields.
	threads int
	// serving counts the reads that callers wait for. served is how long after madeAt the last
	// one ended, in nanoseconds: setting the machine's clock does not move it.
	serving, served atomic.Int64
	madeAt          time.Time
	// taken has room for the statement whose turn it is, background for the one that runs in
	// the background, and publishing for the publication that none of these begins during.
	taken, background, publishing chan struct{}
}

// newTurns returns turns for a server whose statements use so many threads.
func newTurns(threads uint64) *turns {
	t := &turns{
		threads: int(max(threads/2, 1)), //nolint:gosec // cores
		taken:   make(chan struct{}, 1), background: make(chan struct{}, 1), publishing: make(chan struct{}, 1), madeAt: time.Now(),
	}
	t.served.Store(-int64(servingFor))
	return t
}

// serverThreads returns how many threads a statement uses by default.
func (w *Warehouse) serverThreads(ctx context.Context) (uint64, error) {
	return FindValue[uint64](ctx, w, "read the number of threads", "SELECT toUInt64(getSetting('max_threads'))")
}

// Serve tells that a caller waits for what is read until done is called. Statements with a
// context of Yielding yield meanwhile.
func (w *Warehouse) Serve() (done func()) {
	t := w.Conn.turns
	t.serving.Add(1)
	return func() {
		t.served.Store(int64(time.Since(t.madeAt)))
		t.serving.Add(-1)
	}
}

// HoldBackground has statements in the background wait until end is called, for maxBackgroundWait at
// most, unless they run already: on few cores each takes its part of what a publication needs.
func (w *Warehouse) HoldBackground(ctx context.Context) (end func()) {
	held := w.Conn.turns.publishing
	if !take(ctx, held, maxTurnWait) {
		return func() {}
	}
	return func() { <-held }
}

// areNeeded reports whether callers wait, or have waited a moment ago.
func (t *turns) areNeeded() bool {
	return t.serving.Load() > 0 || int64(time.Since(t.madeAt))-t.served.Load() < int64(servingFor)
}

// yield waits for the turn of a statement. While callers wait, one of a context of Yielding or
// InBackground waits until no other statement yields, for maxTurnWait at most. One in the
// background waits before that until no other one is, and then until HoldBackground ends, for
// maxBackgroundWait at most each. It returns how many threads to use, zero for all, and what ends
// the turn, nil for nothing.
func (t *turns) yield(ctx context.Context) (threads int, end func()) {
	u, _ := ctx.Value(urgencyKey{}).(urgency)
	if u == background {
		threads = 1
	}
	if t == nil || u == 0 {
		return threads, nil
	}
	var taken []chan struct{}
	if u == background {
		if take(ctx, t.background, maxBackgroundWait) {
			taken = append(taken, t.background)
		}
		if take(ctx, t.publishing, maxBackgroundWait) {
			<-t.publishing
		}
	}
	if t.areNeeded() {
		if threads == 0 {
			threads = t.threads
		}
		if take(ctx, t.taken, maxTurnWait) {
			taken = append(taken, t.taken)
		}
	}
	if len(taken) == 0 {
		return threads, nil
	}
	return threads, sync.OnceFunc(func() {
		for _, place := range taken {
			<-place
		}
	})
}

func take(ctx context.Context, place chan<- struct{}, most time.Duration) bool {
	select {
	case place <- struct{}{}:
		return true
	case <-time.After(most):
	case <-ctx.Done():
	}
	return false
}

// urgency says how the statements of a context share the server.
type urgency int

type urgencyKey struct{}

const (
	yielding urgency = iota + 1
	background
)

// Yielding returns a context whose statements yield to the reads that callers wait for.
func Yielding(ctx context.Context) context.Context {
	return context.WithValue(ctx, urgencyKey{}, yielding)
}

// InBackground returns a context whose statements yield, always use one thread, and run one at a
// time: together, sorted copies, recounts and events would leave a publication a
// quarter of a core. The rows of one are read before the next is run.
func InBackground(ctx context.Context) context.Context {
	return context.WithValue(ctx, urgencyKey{}, background)
}
