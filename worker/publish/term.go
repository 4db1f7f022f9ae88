package publish

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"go.opentelemetry.io/otel/trace"

	"pnyx/backoff"
	"pnyx/cache"
	"pnyx/cache/accounts"
	"pnyx/governance"
	"pnyx/panics"
	"pnyx/warehouse"
	stored "pnyx/warehouse/accounts"
	"pnyx/warehouse/counts"
	"pnyx/warehouse/records"
)

const (
	// commitOverlap is how far back batches are read again: one is stamped before it becomes visible, and may
	// appear after later ones.
	commitOverlap     = time.Minute
	abandonedInterval = 30 * time.Second
	// previousFormatInterval is the time between two checks whether workers of the previous format have ended.
	previousFormatInterval = 10 * time.Second
	// completeInterval is the time between two checks that read tables while nothing was committed.
	completeInterval = 30 * time.Second
)

// leaderTerm is what a publisher remembers while it leads. Any error ends it; the next goes by what is stored.
type leaderTerm struct {
	publisher *Publisher
	published cache.PublicationState
	// began is when the step began, by this machine's clock: records that came since may be missing.
	began time.Time
	// processed has the commit times of published batches of the overlap; nil until a publication is taken over.
	processed map[uuid.UUID]time.Time
	// lagging holds the DAOs whose proposals do not sum to their ballots yet, laggingDAOs since when.
	lagging          map[string]bool
	laggingDAOs      map[string]laggingDAO
	checkedAbandoned time.Time // by the warehouse's clock
	checkedPrevious  time.Time // by the warehouse's clock
	voteCoverage     map[string]governance.VoteCoverage
	// restored names the last restore of the warehouse, as runIDs do; read once, as workers are stopped for one.
	restored *string
	follows  followTerm
	// quiet is the pulse at which a complete check last found nothing to publish; zero before one. nextDue is when
	// the next proposal is due after it; zero for none.
	quiet   warehouse.Pulse
	nextDue time.Time
	// checkedForums is set once every forum was compared: earlier terms and rules may have left topics behind.
	checkedForums bool
}

// step publishes what has changed, or everything when nothing is published. The
// pulse that it reads may be as old as pulseAge.
func (t *leaderTerm) step(ctx context.Context, pulseAge time.Duration) (err error) {
	defer panics.Caught(&err)
	t.began = time.Now()
	pulse, err := t.publisher.Warehouse.Pulse(ctx, pulseAge)
	if err != nil {
		return err
	}
	now := pulse.Now
	if now.Sub(t.checkedAbandoned) >= abandonedInterval {
		t.checkedAbandoned = now
		if err := records.CommitAbandoned(ctx, t.publisher.Warehouse); err != nil {
			return err
		}
	}
	restored, err := t.restoredFrom(ctx)
	if err != nil {
		return err
	}
	// Before all else, so that a failover during the step shows at the next one.
	found, err := t.publisher.Store.Standing(ctx)
	if err != nil {
		return err
	}
	runIDs := found.ServerRunIDs + restored
	if found.Published == nil {
		return t.publishAll(ctx, now, runIDs)
	}
	published := *found.Published
	forged, err := t.isForged(ctx, now, published.Revision)
	if err != nil {
		return err
	}
	if forged {
		t.publisher.Logger.LogAttrs(ctx, slog.LevelWarn, "publishing everything again: Redis holds a revision that no publisher has given",
			slog.Uint64("revision", published.Revision))
		return t.publishAll(ctx, now, runIDs)
	}
	// If the warehouse's clock was set back, the next revision must still be later, or Redis refuses it.
	t.published.Revision = max(t.published.Revision, published.Revision)
	if published.ServerRunIDs != runIDs {
		return t.republishAll(ctx, now, runIDs, published.ServerRunIDs)
	}
	if found.RepublishRequested {
		t.publisher.Logger.LogAttrs(ctx, slog.LevelWarn, "publishing everything again: a view is missing or does not decode")
		if err := t.publishAll(ctx, now, runIDs); err != nil {
			return err
		}
		return t.publisher.Store.CompleteRepublish(ctx)
	}
	ended, err := t.previousFormatEnded(ctx, now)
	if err != nil {
		return err
	}
	if ended {
		t.publisher.Logger.LogAttrs(ctx, slog.LevelInfo, "publishing everything again: the last worker of the previous cache format has ended")
		return t.publishAll(ctx, now, runIDs)
	}
	if t.processed == nil {
		told, err := t.publisher.Changes.Open(ctx)
		if err != nil {
			return err
		}
		if published.ChangesEpoch != 0 && published.ChangesEpoch != told.Epoch {
			return t.republish(ctx, now, runIDs, slog.LevelWarn, "publishing everything again: Redis holds what was published from another "+
				"warehouse; REDIS_URL must not be another deployment's")
		}
		published.ChangesEpoch = told.Epoch // which an earlier version does not write
		t.resumeFrom(published)
	}
	if t.isQuiet(pulse) {
		return t.heartbeat(ctx, now, "")
	}
	if pulseAge > 0 {
		if pulse, err = t.publisher.Warehouse.Pulse(ctx, 0); err != nil {
			return err
		}
	}
	return t.publishChanges(ctx, pulse)
}

// isQuiet reports whether nothing was committed, and nothing has become due, since a complete check found nothing.
func (t *leaderTerm) isQuiet(pulse warehouse.Pulse) bool {
	since, now := t.quiet.Now, pulse.Now
	return pulse.Quiet(t.quiet) && len(t.lagging) == 0 && !t.publisher.corrections.arePending() &&
		!now.Before(since) && now.Sub(since) < completeInterval &&
		(!t.follows.any || now.Sub(t.follows.checkedAt) < followInterval) &&
		(t.nextDue.IsZero() || now.Before(t.nextDue))
}

// restoredFrom names the restore of the warehouse, if any: it may lack records that are published.
func (t *leaderTerm) restoredFrom(ctx context.Context) (string, error) {
	if t.restored == nil {
		restored, err := records.LastRestore(ctx, t.publisher.Warehouse)
		if err != nil {
			return "", err
		}
		if restored != "" {
			restored = " restored " + restored
		}
		t.restored = &restored
	}
	return *t.restored, nil
}

// isForged reports whether a revision is beyond all that publishers have given, which the warehouse holds. One that
// is ahead of its clock may be right: the clock was set back.
func (t *leaderTerm) isForged(ctx context.Context, now time.Time, published uint64) (bool, error) {
	if !cache.IsTooFarAhead(published, now) {
		return false, nil
	}
	given, err := t.publisher.Warehouse.LastRevision(ctx)
	if err != nil {
		return false, err
	}
	t.published.Revision = max(t.published.Revision, given)
	return cache.IsTooFarAhead(published, time.UnixMicro(int64(given))), nil //nolint:gosec // a time
}

func (t *leaderTerm) resumeFrom(published cache.PublicationState) {
	t.published = published
	t.processed = map[uuid.UUID]time.Time{}
	t.lagging = map[string]bool{}
	addAll(t.lagging, published.LaggingDAOs)
}

// republishAll runs a full publication after Redis failed over or restarted, and may lack the last writes or hold
// deleted keys, or after a restore of the warehouse. Within a term it ends the term: all that runs beside has to
// start over as well.
func (t *leaderTerm) republishAll(ctx context.Context, now time.Time, runIDs, published string) error {
	if t.processed != nil {
		return ErrFailedOver
	}
	level, reason := slog.LevelInfo, "publishing everything again: Redis was restarted or failed over and may have lost the last writes"
	if !strings.HasSuffix(published, *t.restored) {
		level, reason = slog.LevelWarn, "publishing everything again: the warehouse was restored from a backup"
	}
	return t.republish(ctx, now, runIDs, level, reason)
}

// republish runs a full publication in place of one that may lack payments of the ledger.
func (t *leaderTerm) republish(ctx context.Context, now time.Time, runIDs string, level slog.Level, reason string) error {
	t.publisher.Logger.LogAttrs(ctx, level, reason) //nolint:sloglint // one of three
	if err := accounts.New(t.publisher.Store).RequirePaymentRestore(ctx); err != nil {
		return err
	}
	return t.publishAll(ctx, now, runIDs)
}

// previousFormatEnded checks from time to time whether workers of another cache format, which led during an upgrade
// or a rollback, have ended.
func (t *leaderTerm) previousFormatEnded(ctx context.Context, now time.Time) (bool, error) {
	if now.Sub(t.checkedPrevious) < previousFormatInterval {
		return false, nil
	}
	t.checkedPrevious = now
	state, err := t.publisher.Store.EndedPreviousFormat(ctx)
	return state != nil, err
}

func (t *leaderTerm) publishAll(ctx context.Context, now time.Time, runIDs string) error {
	ctx, span := t.publisher.Tracer.StartRoot(ctx, "publish everything", trace.SpanKindInternal)
	defer span.End()
	defer t.publisher.beginFull()()
	key, err := stored.NewAccounts(t.publisher.Warehouse).SigningKey(ctx, "cursor")
	if err != nil {
		return err
	}
	// What they noted as published is read next, and published here.
	previous, err := t.publisher.Store.EndedPreviousFormat(ctx)
	if err != nil {
		return err
	}
	told, err := t.publisher.Changes.Open(ctx)
	if err != nil {
		return err
	}
	// Before the records, which have every batch listed here; and once, so that none counts as published that the
	// log does not tell.
	since := now.Add(-commitOverlap)
	if told.Position != nil {
		since = readFrom(told.Position.CommittedThrough, now)
	}
	batches, err := records.CommittedBatches(ctx, t.publisher.Warehouse, since)
	if err != nil {
		return err
	}
	scope := Everything{}
	if told.Position != nil {
		scope.Lagging = told.Position.LaggingDAOs
	}
	if !told.Everything {
		if scope.Untold, err = t.untold(ctx, told.Position, batches, since, now); err != nil {
			return err
		}
	}
	// Before the first write: a Redis that is flushed meanwhile lacks the token, and does not accept the end.
	token, err := t.publisher.Lease.BeginFullPublication(ctx)
	if err != nil {
		return err
	}
	// What the batches change is in what is counted next, but not in sums of ranges.
	t.publisher.forgetSums()
	in := Input{Revision: t.nextRevision(now), At: now, Scope: scope, Batches: batches}
	result, err := t.publisher.Publish(ctx, in)
	if err != nil {
		return fmt.Errorf("publish everything: %w", err)
	}
	t.resumeFrom(cache.PublicationState{
		CursorKey: key, LastFullRevision: in.Revision, ServerRunIDs: runIDs, ChangesEpoch: told.Epoch,
		Revision: in.Revision, CommittedThrough: now.UnixMicro(),
	})
	t.markProcessed(batches)
	t.publisher.Logger.LogAttrs(ctx, slog.LevelInfo, "published everything",
		result.attrs(in.Revision)...)
	if in, result, err = t.publishWithheld(ctx, in, result); err != nil {
		return err
	}
	if err := t.commit(ctx, in, result, token); err != nil || previous == nil {
		return err
	}
	return t.publisher.Store.RetirePreviousFormat(ctx, previous)
}

// untold returns what has changed since the log of changes was written; nothing before the first publication.
func (t *leaderTerm) untold(
	ctx context.Context, position *counts.ChangePosition, batches []records.CommittedBatch, since, now time.Time,
) (*Changes, error) {
	untold := &Changes{ChangeSet: records.NewChangeSet()}
	if position == nil {
		return untold, nil
	}
	untold.AllForums, untold.Since = true, position.Revision
	for _, batch := range batches {
		maps.Copy(untold.Proposals, batch.Changes.Proposals)
		maps.Copy(untold.Sources, batch.Changes.Sources)
	}
	due, err := counts.ProposalsDue(ctx, t.publisher.Warehouse, now)
	if err != nil {
		return nil, err
	}
	// A publication that was cut off has left none due.
	turned, err := counts.NewChangeLog(t.publisher.Warehouse).Turned(ctx, since, now)
	addAll(untold.Proposals, slices.Concat(due, turned))
	return untold, err
}

// maxWithheldTries is how often the first publication of a cache format counts again what it withheld.
const maxWithheldTries = 5

// publishWithheld publishes DAOs again whose ballots landed while they were counted, and that have no previous
// numbers in this cache format. It does so only while nodes of the version before serve: without them, all other
// answers must not wait.
func (t *leaderTerm) publishWithheld(ctx context.Context, in Input, result Result) (Input, Result, error) {
	for range maxWithheldTries {
		if len(result.Withheld) == 0 {
			break
		}
		served, err := t.publisher.Store.HasPreviousFormat(ctx)
		if err != nil || !served {
			return in, result, err
		}
		t.publisher.Invalidate(ctx, result.Written)
		pulse, err := t.publisher.Warehouse.Pulse(ctx, 0)
		if err != nil {
			return in, result, err
		}
		batches, err := t.unprocessed(ctx, pulse.Now)
		if err != nil {
			return in, result, err
		}
		t.lagging, t.voteCoverage, t.checkedForums = result.Lagging, result.VoteCoverage, true
		in = t.inputOf(pulse.Now, batches, records.NewChangeSet())
		if result, err = t.publishBatches(ctx, in); err != nil {
			return in, result, err
		}
	}
	return in, result, nil
}

func (t *leaderTerm) publishChanges(ctx context.Context, pulse warehouse.Pulse) (err error) {
	defer t.publisher.Warehouse.HoldBackground(ctx)()
	now := pulse.Now
	batches, err := t.unprocessed(ctx, now)
	if err != nil {
		return err
	}
	due, err := counts.ProposalsDue(ctx, t.publisher.Warehouse, now)
	if err != nil {
		return err
	}
	wrong, wrongDAOs := t.publisher.corrections.take()
	defer func() {
		if err != nil {
			t.publisher.corrections.putBack(wrong, wrongDAOs)
		}
	}()
	due = append(due, wrong...)
	addAll(t.lagging, wrongDAOs)
	follows, err := t.followChanges(ctx, now)
	if err != nil {
		return err
	}
	if len(batches) == 0 && len(due) == 0 && len(t.lagging) == 0 && len(follows) == 0 && t.checkedForums {
		if t.nextDue, err = counts.NextDue(ctx, t.publisher.Warehouse, now); err != nil {
			return err
		}
		t.quiet = pulse
		return t.heartbeat(ctx, now, "")
	}
	t.quiet = warehouse.Pulse{}
	ctx, span := t.publisher.Tracer.StartRoot(ctx, "publish changes", trace.SpanKindInternal)
	defer span.End()
	changed := records.NewChangeSet()
	addAll(changed.Proposals, due)
	addAll(changed.Sources, follows)
	in := t.inputOf(now, batches, changed)
	result, err := t.publishBatches(ctx, in)
	if err != nil {
		return err
	}
	return t.commit(ctx, in, result, "")
}

func (t *leaderTerm) inputOf(now time.Time, batches []records.CommittedBatch, changed records.ChangeSet) Input {
	var committedAt time.Time
	for _, batch := range batches {
		if committedAt.IsZero() || batch.CommittedAt.Before(committedAt) {
			committedAt = batch.CommittedAt
		}
		maps.Copy(changed.Proposals, batch.Changes.Proposals)
		maps.Copy(changed.Sources, batch.Changes.Sources)
		t.publisher.touch(batch.Changes)
	}
	return Input{
		Revision: t.nextRevision(now), At: now, CommittedAt: committedAt,
		Scope:   Changes{ChangeSet: changed, AllForums: !t.checkedForums, Since: t.published.Revision},
		Lagging: t.lagging, VoteCoverage: t.voteCoverage, Batches: batches,
	}
}

// publishBatches publishes an input of inputOf. It is not the current publication yet: see commit.
func (t *leaderTerm) publishBatches(ctx context.Context, in Input) (Result, error) {
	result, err := t.publisher.Publish(ctx, in)
	if err != nil {
		return Result{}, fmt.Errorf("publish %d batches: %w", len(in.Batches), err)
	}
	t.published.Revision = in.Revision
	t.markProcessed(in.Batches)
	t.publisher.Logger.LogAttrs(ctx, slog.LevelInfo, "published changes",
		append(result.attrs(in.Revision), slog.Int("batches", len(in.Batches)))...)
	return result, nil
}

func (t *leaderTerm) markProcessed(batches []records.CommittedBatch) {
	for _, batch := range batches {
		t.processed[batch.ID] = batch.CommittedAt
	}
}

// readFrom returns from when batches are read where all up to a time in microseconds are published, also after the
// warehouse's clock was set back.
func readFrom(committedThrough int64, now time.Time) time.Time {
	return time.UnixMicro(min(committedThrough, now.UnixMicro())).Add(-commitOverlap)
}

func (t *leaderTerm) unprocessed(ctx context.Context, now time.Time) ([]records.CommittedBatch, error) {
	since := readFrom(t.published.CommittedThrough, now)
	batches, err := records.CommittedBatches(ctx, t.publisher.Warehouse, since)
	if err != nil {
		return nil, err
	}
	maps.DeleteFunc(t.processed, func(_ uuid.UUID, committedAt time.Time) bool {
		return committedAt.Before(since)
	})
	return slices.DeleteFunc(batches, func(b records.CommittedBatch) bool {
		_, processed := t.processed[b.ID]
		return processed
	}), nil
}

// commit makes a publication the current one. token is as in heartbeat.
func (t *leaderTerm) commit(ctx context.Context, in Input, result Result, token string) error {
	t.updateLagging(in, result)
	t.follows.takeOver(result)
	t.published.Revision = in.Revision
	t.published.LaggingDAOs = slices.Sorted(maps.Keys(result.Lagging))
	t.voteCoverage = result.VoteCoverage
	t.checkedForums = true
	t.publisher.metrics.observe(in, result)
	told := counts.ChangePosition{CommittedThrough: in.At.UnixMicro(), Revision: in.Revision, LaggingDAOs: t.published.LaggingDAOs}
	if err := t.publisher.Changes.Advance(ctx, told); err != nil {
		return err
	}
	if err := t.heartbeat(ctx, in.At, token); err != nil {
		return err
	}
	// After the heartbeat: the sorted copies check that everything is published.
	backoff.Wake(t.publisher.copiesPending)
	t.publisher.OnPublish()
	t.publisher.Invalidate(ctx, result.Written)
	return nil
}

// heartbeat tells nodes that all committed by now is published. token is of
// Lease.BeginFullPublication after a publication of everything, else empty.
func (t *leaderTerm) heartbeat(ctx context.Context, now time.Time, token string) error {
	t.published.CommittedThrough = now.UnixMicro()
	t.published.HeartbeatAt = governance.TimestampOf(t.began)
	if err := t.publisher.Lease.SetPublicationState(ctx, t.published, token); err != nil {
		return err
	}
	t.publisher.metrics.heartbeat(now, t.laggingDAOs)
	return nil
}

// nextRevision is later than all before, and follows the warehouse's clock: it orders workers by their reads.
func (t *leaderTerm) nextRevision(now time.Time) uint64 {
	return max(uint64(now.UnixMicro()), t.published.Revision+1)
}

// laggingDAO is a DAO that keeps previous numbers, with the time up to which batches are in them.
type laggingDAO struct {
	class daoClass
	asOf  time.Time
}

// updateLagging takes over which DAOs lag. Those that did before keep the time of their numbers.
func (t *leaderTerm) updateLagging(in Input, result Result) {
	previous := in.At
	if t.published.CommittedThrough > 0 {
		previous = time.UnixMicro(t.published.CommittedThrough)
	}
	lagging := map[string]laggingDAO{}
	for id := range result.Lagging {
		dao, known := t.laggingDAOs[id]
		if !known {
			dao = laggingDAO{result.Classes[id], previous}
		}
		lagging[id] = dao
	}
	t.lagging, t.laggingDAOs = result.Lagging, lagging
}
