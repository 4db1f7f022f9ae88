package follow

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"pnyx/backoff"
	"pnyx/cache"
	"pnyx/clock"
	"pnyx/governance"
	"pnyx/warehouse"
	"pnyx/warehouse/records"
)

const (
	// leaseTTL is how long an upstream rests after its follower has died.
	leaseTTL = 30 * time.Second
	// standbyInterval is the time between two attempts to acquire a lease of another process.
	standbyInterval = 5 * time.Second
	// endTimeout bounds the last write of cursors and the release of the lease.
	endTimeout = 5 * time.Second
	// maxRuns bounds the pollers that poll at the same time: high, because most wait for their upstream.
	maxRuns = 256
	// maxBackfills bounds how many of them read the past, of all upstreams and of one.
	maxBackfills, maxBackfillsOfUpstream = 16, 2
	// maxOpenings bounds the journals opened at once: hundreds at the start wait too long for a connection.
	maxOpenings = 4
)

// Options configure a Follower.
type Options struct {
	// Warehouse receives the records and holds the cursors.
	Warehouse *warehouse.Warehouse
	Store     *cache.Store
	// Clock is nil for the system's.
	Clock *clock.Clock
	// Logger receives a line when an upstream is led, and when a poller fails or works again.
	Logger  *slog.Logger
	Metrics prometheus.Registerer
}

// Follower runs the pollers of upstreams. Each of many processes may run one: a lease decides who polls.
type Follower struct {
	Options

	metrics *metrics
	// leaseTTL and standbyInterval are the constants, except in tests.
	leaseTTL, standbyInterval time.Duration
	// runs and backfills are the free places for pollers that poll.
	runs, backfills chan struct{}
	// openings are the free places for journals that are opened.
	openings chan struct{}
	// changed wakes Run after Set.
	changed chan struct{}

	mu     sync.Mutex
	wanted map[string]Upstream
	// journals are the journals of the upstreams that this process leads.
	journals map[string]*Journal
}

// New returns a Follower that follows nothing until Set, and does nothing until Run.
func New(o Options) *Follower {
	f := &Follower{
		Options: o, runs: make(chan struct{}, maxRuns), backfills: make(chan struct{}, maxBackfills),
		openings: make(chan struct{}, maxOpenings), changed: make(chan struct{}, 1), journals: map[string]*Journal{},
		leaseTTL: leaseTTL, standbyInterval: standbyInterval,
	}
	f.metrics = newMetrics(o.Metrics, f)
	return f
}

// Set replaces what is followed. An upstream that was passed before, by the same pointer, goes on undisturbed, one that
// is missing is stopped, and its cursors say that it is off.
func (f *Follower) Set(upstreams ...Upstream) {
	wanted := make(map[string]Upstream, len(upstreams))
	for _, u := range upstreams {
		wanted[u.ID()] = u
	}
	f.mu.Lock()
	f.wanted = wanted
	f.mu.Unlock()
	backoff.Wake(f.changed)
}

// Run follows what Set names until ctx ends. Then it waits for what is being written.
func (f *Follower) Run(ctx context.Context) {
	var running sync.WaitGroup
	defer running.Wait()
	running.Go(func() { f.writeHealth(ctx) })
	active := map[string]activeUpstream{}
	for {
		f.apply(ctx, active)
		select {
		case <-ctx.Done():
			for _, a := range active {
				<-a.ended
			}
			return
		case <-f.changed:
		}
	}
}

type activeUpstream struct {
	upstream Upstream
	stop     context.CancelFunc
	// ended is closed when nothing runs any more.
	ended chan struct{}
}

// apply starts and stops upstreams until active is what is wanted.
func (f *Follower) apply(ctx context.Context, active map[string]activeUpstream) {
	const retiring = "" // the key of what marks the upstreams that are no longer followed
	f.mu.Lock()
	wanted := f.wanted
	f.mu.Unlock()
	if wanted == nil {
		return
	}
	for id, a := range active {
		if id != retiring && wanted[id] == a.upstream {
			continue
		}
		a.stop()
		<-a.ended
		delete(active, id)
	}
	start := func(id string, u Upstream, run func(context.Context)) {
		running, stop := context.WithCancel(ctx)
		a := activeUpstream{upstream: u, stop: stop, ended: make(chan struct{})}
		active[id] = a
		go func() {
			defer close(a.ended)
			defer stop()
			run(running)
		}()
	}
	for _, id := range slices.Sorted(maps.Keys(wanted)) {
		if _, runs := active[id]; !runs {
			u := wanted[id]
			start(id, u, func(ctx context.Context) { f.follow(ctx, u) })
		}
	}
	start(retiring, nil, func(ctx context.Context) { f.retire(ctx, wanted) })
}

// follow leads an upstream whenever the lease can be acquired, until ctx ends.
func (f *Follower) follow(ctx context.Context, u Upstream) {
	lease := f.Store.NewFollowLease(u.ID(), f.leaseTTL)
	pause := time.Second
	for ctx.Err() == nil {
		began := time.Now()
		err := f.lead(ctx, u, lease)
		if time.Since(began) > backoff.Max {
			pause = time.Second // the errors before are long over
		}
		switch {
		case ctx.Err() != nil:
			return
		case errors.Is(err, cache.ErrNotLeader):
			pause = f.standbyInterval
		default:
			f.Logger.LogAttrs(ctx, slog.LevelError, "following interrupted, retrying",
				slog.String("upstream", u.ID()), slog.Any("error", err))
			pause = backoff.Next(pause)
		}
		backoff.Wait(ctx, backoff.Jitter(pause))
	}
}

// lead acquires the lease and runs the pollers for as long as it is held. It returns the cause of the end:
// cache.ErrNotLeader when another process leads.
func (f *Follower) lead(ctx context.Context, u Upstream, lease *cache.Lease) error {
	if err := lease.Acquire(ctx); err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	var running sync.WaitGroup
	running.Go(func() { cancel(lease.Hold(ctx)) })
	f.openings <- struct{}{}
	journal, err := OpenJournal(ctx, f.Warehouse, u.ID(), u.Sources(), f.Clock)
	<-f.openings
	if err != nil {
		cancel(err)
	} else {
		f.Logger.LogAttrs(ctx, slog.LevelInfo, "following", slog.String("upstream", u.ID()))
		journal.deferred = true
		journal.keep()
		f.open(u.ID(), journal)
		places := make(chan struct{}, maxBackfillsOfUpstream)
		for _, poller := range u.Pollers(journal) {
			r := pollerRun{Follower: f, poller: poller, journal: journal, places: places}
			running.Go(func() { r.run(ctx) })
		}
	}
	running.Wait()
	cause := context.Cause(ctx)
	f.open(u.ID(), nil)
	// Even at shutdown: the next process reads nothing again and need not wait for the lease to expire.
	end, stop := context.WithTimeout(context.WithoutCancel(ctx), endTimeout)
	defer stop()
	if journal != nil && !errors.Is(cause, cache.ErrNotLeader) {
		cause = errors.Join(cause, writePending(end, f.Warehouse, journal))
	}
	return errors.Join(cause, lease.Release(end))
}

// open notes the journal of an upstream that this process leads; nil for one that it no longer does.
func (f *Follower) open(upstream string, journal *Journal) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if journal == nil {
		delete(f.journals, upstream)
		return
	}
	f.journals[upstream] = journal
}

func (f *Follower) opened() []*Journal {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Collect(maps.Values(f.journals))
}

// retire notes in the cursors of upstreams that nobody follows any more that they are off.
func (f *Follower) retire(ctx context.Context, wanted map[string]Upstream) {
	for ctx.Err() == nil {
		err := f.retireOnce(ctx, wanted)
		if err == nil || ctx.Err() != nil {
			return
		}
		if !errors.Is(err, cache.ErrNotLeader) {
			f.Logger.LogAttrs(ctx, slog.LevelWarn, "marking unfollowed upstreams failed, retrying",
				slog.Any("error", err))
		}
		backoff.Wait(ctx, f.leaseTTL/2+rand.N(f.leaseTTL)) //nolint:gosec // no secret
	}
}

func (f *Follower) retireOnce(ctx context.Context, wanted map[string]Upstream) error {
	stored, err := records.FollowCursors(ctx, f.Warehouse, "")
	if err != nil {
		return err
	}
	off := map[string][]records.FollowCursor{}
	for _, cursor := range stored {
		if wanted[cursor.Upstream] == nil && cursor.State != governance.SourceOff {
			cursor.State = governance.SourceOff
			off[cursor.Upstream] = append(off[cursor.Upstream], cursor)
		}
	}
	for upstream, cursors := range off {
		lease := f.Store.NewFollowLease(upstream, f.leaseTTL)
		if acquireErr := lease.Acquire(ctx); acquireErr != nil {
			err = errors.Join(err, acquireErr)
			continue
		}
		err = errors.Join(err, records.WriteFollowCursors(ctx, f.Warehouse, cursors), lease.Release(ctx))
	}
	return err
}
