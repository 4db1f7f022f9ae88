// Package feed derives events and signals from what is published and imported, and writes them to the warehouse. It
// runs concurrently with publication: no vote summary waits for it.
//
// An item (a proposal, a topic, some blocks of a token or a recorded event or signal) is pending when it was
// published or imported since it was processed, or the rules are others. A Builder writes how its events and
// signals differ from what is stored, and only then marks the item as processed, so that one which is cut off is
// processed again.
//
// Recorded events and signals replace derived ones of the same type, proposal and DAO.
package feed

import (
	"context"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"pnyx/backoff"
	"pnyx/cache"
	"pnyx/governance"
	"pnyx/governance/rules"
	"pnyx/panics"
	"pnyx/warehouse"
	"pnyx/warehouse/feed"
	"pnyx/warehouse/records"
	"pnyx/worker/changelog"
)

const (
	// visibleInterval is the time between two checks for versions that Redis has lost, without a publication.
	visibleInterval = 5 * time.Second
	// retryInterval is the time between two attempts while something is pending.
	retryInterval = time.Second
	// maxVisibleInterval bounds the time between two reads of what became visible: clocks may drift apart.
	maxVisibleInterval = 30 * time.Second
	// pendingInterval is the time between two checks for pending items, without a publication.
	pendingInterval = 5 * time.Minute
)

// Options configures a Builder.
type Options struct {
	// Warehouse is read and written.
	Warehouse *warehouse.Warehouse
	// Store holds the versions of the lists.
	Store *cache.Store
	// Invalidate tells API nodes and edge caches what has changed. It returns at once.
	Invalidate func(ctx context.Context, written *cache.Writer)
	// AwaitFullPublication blocks while everything is being published: results come first.
	AwaitFullPublication func(ctx context.Context)
	// OnShow is called with the revision up to which the lists are written and visible. It returns at once.
	OnShow  func(revision uint64)
	Changes *changelog.Log
	// Logger receives errors.
	Logger *slog.Logger
	// Errors counts failed attempts.
	Errors prometheus.Counter
}

// Builder keeps events and signals up to date. At most one Run or Settle may be active for a warehouse at a time:
// the caller holds the worker's lease.
type Builder struct {
	Options
	// published has room for one signal from Wake.
	published chan struct{}
	// progress belongs to the active Run.
	progress
}

type progress struct {
	// revision is the revision of the last write, in microseconds of the warehouse's clock.
	revision uint64
	// rulesVersion differs between programs with different rules.
	rulesVersion uint64
	// visibleThrough is up to when the lists show what has happened; zero before the first check.
	visibleThrough governance.Timestamp
	// fullRevision is the revision of the last full publication; zero before the first.
	fullRevision uint64
	// nextVisible is when rows become visible, or are checked for, by this machine's clock; zero for at once.
	nextVisible time.Time
	// daoNames are the names under which lists show the DAOs; nil before they were read.
	daoNames map[string]string
	// daos are the DAOs of the catalog, by id.
	daos    map[string]records.CatalogDAO
	journal journal
}

func newProgress() progress { return progress{rulesVersion: rules.FeedRulesVersion()} }

// New returns a Builder that does nothing until Run.
func New(o Options) *Builder { return &Builder{Options: o, published: make(chan struct{}, 1)} }

// Wake tells the Builder that something was published. It does not block.
func (b *Builder) Wake() { backoff.Wake(b.published) }

// Run processes pending items until ctx ends. Errors are logged and retried.
func (b *Builder) Run(ctx context.Context) {
	b.progress = newProgress()
	// checked is when pending items were last processed.
	var checked, pausedUntil time.Time
	for pending := true; ctx.Err() == nil; {
		err := b.showVisible(ctx)
		pending = pending || time.Since(checked) > pendingInterval
		if err == nil && pending && time.Now().After(pausedUntil) {
			checked = time.Now()
			err = b.processPending(ctx)
			pending = err != nil
			// Pause as long as the work took: during an import, publication comes first.
			b.nextVisible = time.Time{} // of other rows, maybe
			pausedUntil = time.Now().Add(min(time.Since(checked), backoff.Max))
		}
		if err != nil && ctx.Err() == nil {
			b.visibleThrough = 0 // rows may be written that no version, and no change, tells of
			b.Errors.Inc()
			b.Logger.LogAttrs(ctx, slog.LevelError, "events and signals not updated, retrying",
				slog.Any("error", err))
		}
		told := backoff.Await(ctx, b.untilNextCheck(pending || err != nil), b.published)
		pending = pending || told
	}
}

// untilNextCheck returns how long Run rests: until rows become visible, if that comes first.
func (b *Builder) untilNextCheck(pending bool) time.Duration {
	if pending {
		return retryInterval
	}
	return max(0, min(visibleInterval, time.Until(b.nextVisible)))
}

// Settle processes what is pending, once.
func (b *Builder) Settle(ctx context.Context) error {
	b.progress = newProgress()
	if err := b.showVisible(ctx); err != nil {
		return err
	}
	return b.processPending(ctx)
}

func (b *Builder) processPending(ctx context.Context) (err error) {
	defer panics.Caught(&err)
	catalog, err := records.CatalogOwners(ctx, b.Warehouse)
	if err != nil {
		return err
	}
	b.daos = catalog.DAOs
	if err := b.showRenamed(ctx, catalog); err != nil {
		return err
	}
	// Recorded items come before proposals, whose derived rows they suppress.
	if err := b.processRecorded(ctx); err != nil {
		return err
	}
	proposals, err := feed.NewFeed(b.Warehouse).PendingProposals(ctx, b.rulesVersion)
	if err != nil {
		return err
	}
	if err := b.processProposals(ctx, proposals); err != nil {
		return err
	}
	if err := b.processTopics(ctx, catalog); err != nil {
		return err
	}
	return b.processDelegates(ctx)
}

// nextRevision sets revision to the warehouse's clock, or to one later than before if that was set back.
func (b *Builder) nextRevision(ctx context.Context) (now governance.Timestamp, err error) {
	at, err := b.Warehouse.Now(ctx)
	if err != nil {
		return 0, err
	}
	b.revision = max(uint64(at.UnixMicro()), b.revision+1)
	return governance.TimestampOf(at), nil
}
