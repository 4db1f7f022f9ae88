// Package publish computes what API nodes serve, and writes it to Redis: the proposals, DAOs, topics and lists that
// newly committed batches touch, or that the passing of time has changed.
//
// A Publisher does that while its worker leads. Publisher.Run checks for changes, Publisher.Publish writes one
// revision, and Publisher.MaintainSortedCopies concurrently keeps the copies that pages of large lists are read from.
//
// A worker can die at any point, and Redis can lose writes. Five rules hold in every file:
//
//   - Revisions follow the warehouse's clock and only grow: Redis refuses to replace a value with one of an earlier
//     revision. The lease saves work; correctness does not depend on it.
//   - Redis is written before the warehouse states what is published: what is cut off is published again.
//   - Former keys are removed before new ones are written, and the version of a list changes after its rows.
//   - Sums that do not match their parts were read while records landed: the previous numbers stay, and the DAO is
//     published again.
//   - Only a completed publication changes the publication state, from which API nodes conclude that a missing key
//     means "does not exist".
package publish

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"pnyx/backoff"
	"pnyx/cache"
	"pnyx/telemetry"
	"pnyx/warehouse"
	"pnyx/warehouse/counts"
	"pnyx/warehouse/pages"
	"pnyx/warehouse/record"
	"pnyx/worker/changelog"
)

// idleAfter is how long after the last publication the publisher is idle: it expects to be told of batches, and
// reads a pulse only when the last is warehouse.IdlePulseAge old.
const idleAfter = 10 * time.Second

// ErrFailedOver ends Run when Redis has failed over or was restarted. The next Run publishes everything again.
var ErrFailedOver = errors.New("redis has failed over or was restarted")

// Options configures a Publisher.
type Options struct {
	Warehouse *warehouse.Warehouse
	Store     *cache.Store
	// Lease is held by the caller for as long as Run runs.
	Lease *cache.Lease
	// Interval is the time between two checks for changes.
	Interval time.Duration
	// Invalidate tells API nodes and edge caches what has changed. It returns at once.
	Invalidate func(ctx context.Context, written *cache.Writer)
	// OnPublish is called after every publication, and returns at once.
	OnPublish func()
	Changes   *changelog.Log
	// Progress is called with how many proposals are published; nil where nobody watches.
	Progress func(done, all int)
	// Logger receives a line for every publication.
	Logger *slog.Logger
	// Metrics registers the publisher's metrics.
	Metrics prometheus.Registerer
	// Errors counts failed attempts.
	Errors prometheus.Counter
	// Tracer is nil when tracing is off.
	Tracer *telemetry.Tracer
}

// Publisher publishes what has changed in the warehouse to Redis.
type Publisher struct {
	Options
	metrics metrics
	// committed has room for one signal from Wake.
	committed chan struct{}
	// copiesPending wakes MaintainSortedCopies.
	copiesPending chan struct{}
	// full is closed at the end of the publication of everything that runs; nil for none.
	full atomic.Pointer[chan struct{}]
	// totals are the totals of large proposals, and corrections what differed from a recount.
	totals *rangeSums[record.RefHash, counts.VoteTotals]
	// voters have the participation in large DAOs.
	voters      *daoVoters
	corrections *corrections
	// uncorrected are published states of proposals whose records were arriving, to compare what follows with.
	uncorrected map[record.RefHash]counts.ProposalState
	// daosFirst says whose turn it is to be recounted; Recount alone uses it.
	daosFirst bool
	// rangedFrom is the number of ballots from which the totals of a proposal are kept by range, daoRangedFrom the
	// same for a DAO. All five are constants but in tests.
	rangedFrom, daoRangedFrom, votersPerRange uint64
	recountInterval, recountOverlap           time.Duration
}

// New returns a Publisher that does nothing until Run.
func New(o Options) *Publisher {
	return &Publisher{
		Options: o, metrics: newMetrics(o.Metrics),
		committed: make(chan struct{}, 1), copiesPending: make(chan struct{}, 1),
		totals: newRangeSums(rangeCounts[record.RefHash, counts.VoteTotals]{
			counts.SumTotals, counts.VoteTotals.Equal, counts.RangeStarts, counts.RangeTotals, counts.VoteTotalsOf,
		}),
		voters: &daoVoters{rangeSums: newRangeSums(rangeCounts[string, counts.Participation]{
			counts.SumParticipation, func(a, b counts.Participation) bool { return a == b },
			counts.DAORangeStarts, counts.RangeParticipation, counts.ParticipationOf,
		})},
		corrections: &corrections{pending: map[record.RefHash]bool{}, flagged: map[record.RefHash]bool{}, daos: map[string]bool{}},
		uncorrected: map[record.RefHash]counts.ProposalState{},
		rangedFrom:  pages.SortedCopyThreshold, daoRangedFrom: daoRangedFrom, votersPerRange: votersPerRange,
		recountInterval: recountInterval, recountOverlap: commitOverlap,
	}
}

// Wake tells the Publisher that a batch was committed. It does not block.
func (p *Publisher) Wake() { backoff.Wake(p.committed) }

// Run publishes changes at intervals, and when woken, until ctx ends or an attempt fails, and returns the cause.
func (p *Publisher) Run(ctx context.Context) error {
	// Another worker may have published meanwhile.
	p.forgetSums()
	term := leaderTerm{publisher: p}
	pace := pace{ended: time.Now()}
	var pulseAge time.Duration
	for {
		began, before := time.Now(), term.published.Revision
		if err := term.step(ctx, pulseAge); err != nil {
			return err
		}
		pause := min(time.Since(began), maxRest)
		if term.published.Revision != before {
			backoff.Wait(ctx, pace.rest(began, time.Now(), term.published.LastFullRevision == term.published.Revision))
			pause = 0
		}
		pulseAge = 0
		if told := backoff.Await(ctx, max(p.Interval, pause), p.committed); !told && time.Since(pace.ended) > idleAfter {
			pulseAge = warehouse.IdlePulseAge
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
}

// settleAttempts is how often Settle publishes. Once is enough unless records land meanwhile.
const settleAttempts = 3

// Settle publishes until nothing is left. lagging are the DAOs that keep previous numbers, because their records
// contradict each other.
func (p *Publisher) Settle(ctx context.Context) (lagging []string, err error) {
	p.forgetSums()
	term := leaderTerm{publisher: p}
	for range settleAttempts {
		if err := term.step(ctx, 0); err != nil {
			return nil, err
		}
		if len(term.lagging) == 0 {
			return nil, nil
		}
	}
	return slices.Sorted(maps.Keys(term.lagging)), nil
}

// beginFull makes background work wait until end is called. At most one publication runs at a time.
func (p *Publisher) beginFull() (end func()) {
	ended := make(chan struct{})
	p.full.Store(&ended)
	return func() {
		p.full.Store(nil)
		close(ended)
	}
}

// AwaitFullPublication blocks while everything is being published, or until ctx ends.
func (p *Publisher) AwaitFullPublication(ctx context.Context) {
	if ended := p.full.Load(); ended != nil {
		select {
		case <-*ended:
		case <-ctx.Done():
		}
	}
}

// isPublishingEverything reports whether everything is being published, or about to be: Redis is empty.
func (p *Publisher) isPublishingEverything(ctx context.Context) bool {
	if p.full.Load() != nil {
		return true
	}
	_, err := p.Store.PublicationState(ctx)
	return errors.Is(err, cache.ErrMiss)
}

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
