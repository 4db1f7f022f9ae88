package publish

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"
	"go.opentelemetry.io/otel/trace"

	"pnyx/cache"
	"pnyx/governance"
	"pnyx/warehouse"
	"pnyx/warehouse/record"
)

// sealOverlap is how far back batches are looked for again: the warehouse stamps a
// batch before it shows it, so that one may appear behind others that are later.
const sealOverlap = time.Minute

// abandonedEvery is how often batches are looked for that nobody will seal.
const abandonedEvery = 30 * time.Second

// session is one worker's time as leader.
type session struct {
	worker    *Publisher
	published cache.PublicationState
	// began is when the step under way looked for something to publish. Whatever came
	// since may be missing, however long the publication takes.
	began time.Time
	// taken holds the batches within the overlap that are published, with the time
	// they were sealed at.
	taken map[uuid.UUID]time.Time
	// unsettled holds the DAOs whose numbers did not agree, to be tried again.
	unsettled     map[string]bool
	held          map[string]held
	lookedForDead time.Time
	// voteCoverage is as in publication: nobody else changes it while the lease is held.
	voteCoverage map[string]governance.VoteCoverage
	// lookedAtForums says that no forum has topics that an earlier session, or an
	// earlier version of the rules, left behind.
	lookedAtForums bool
}

// step publishes what has changed, or everything when nothing is published.
func (s *session) step(ctx context.Context) error {
	s.began = time.Now()
	now, err := s.worker.warehouse.Now(ctx)
	if err != nil {
		return err
	}
	if err := s.sealAbandoned(ctx, now); err != nil {
		return err
	}
	// Asked before anything is read or written, so that a failover meanwhile shows at
	// the next step.
	identity, err := s.worker.store.ServerRunIDs(ctx)
	if err != nil {
		return err
	}
	published, err := s.worker.store.PublicationState(ctx)
	switch {
	case errors.Is(err, cache.ErrMiss):
		return s.publishAll(ctx, now, identity)
	case err != nil:
		return err
	}
	// A clock that was set back must not make what is published next older than what
	// is there, which would refuse it.
	s.published.Revision = max(s.published.Revision, published.Revision)
	if published.ServerRunIDs != identity {
		return s.publishAgain(ctx, now, identity)
	}
	renewal, err := s.worker.store.RepublishRequested(ctx)
	if err != nil {
		return err
	}
	if renewal {
		return s.renew(ctx, now, identity)
	}
	if s.taken == nil {
		s.adopt(published)
	}
	return s.publishChanges(ctx, now)
}

// adopt continues from what another worker, or an earlier session, published.
func (s *session) adopt(published cache.PublicationState) {
	s.published = published
	s.taken = map[uuid.UUID]time.Time{}
	s.unsettled = map[string]bool{}
	for _, daoID := range published.LaggingDAOs {
		s.unsettled[daoID] = true
	}
}

// publishAgain publishes everything although it was: the last writes may be lost,
// and one of an age ago may have come back. What is there is served meanwhile.
func (s *session) publishAgain(ctx context.Context, now time.Time, identity string) error {
	if s.taken != nil {
		return ErrFailedOver
	}
	s.worker.logger.LogAttrs(ctx, slog.LevelWarn, "publishing everything again: Redis has failed over or was restarted, and may have lost the last writes")
	if err := s.worker.store.RequirePaymentRestore(ctx); err != nil {
		return err
	}
	return s.publishAll(ctx, now, identity)
}

// renew publishes everything because a node has found a view that does not decode.
func (s *session) renew(ctx context.Context, now time.Time, identity string) error {
	s.worker.logger.LogAttrs(ctx, slog.LevelWarn, "publishing everything again: a view does not decode")
	if err := s.publishAll(ctx, now, identity); err != nil {
		return err
	}
	return s.worker.store.CompleteRepublish(ctx)
}

func (s *session) sealAbandoned(ctx context.Context, now time.Time) error {
	if now.Sub(s.lookedForDead) < abandonedEvery {
		return nil
	}
	s.lookedForDead = now
	return s.worker.warehouse.CommitAbandoned(ctx)
}

// publishAll publishes everything that the warehouse holds to a Redis of an identity.
func (s *session) publishAll(ctx context.Context, now time.Time, identity string) error {
	ctx, span := s.worker.tracer.Begin(ctx, "publish everything", trace.SpanKindInternal)
	defer span.End()
	key, err := s.worker.warehouse.SigningKey(ctx, "cursor")
	if err != nil {
		return err
	}
	token, err := s.worker.lease.BeginFullPublication(ctx)
	if err != nil {
		return err
	}
	// Looked up before the records are, so that what they hold is in what is read.
	batches, err := s.worker.warehouse.CommittedBatches(ctx, now.Add(-sealOverlap))
	if err != nil {
		return err
	}
	refs, err := s.worker.warehouse.AllProposals(ctx)
	if err != nil {
		return err
	}
	topics, err := s.worker.warehouse.AllTopics(ctx)
	if err != nil {
		return err
	}
	revision := s.nextRevision(now)
	s.adopt(cache.PublicationState{CursorKey: key, LastFullRevision: revision, ServerRunIDs: identity})
	p := newPublication(s.worker, revision, now)
	if err := p.loadCounterparts(ctx, nil); err != nil {
		return err
	}
	p.topics = topics
	if err := p.run(ctx, refs, everyDAO); err != nil {
		return fmt.Errorf("publish everything: %w", err)
	}
	s.lookedAtForums = true
	s.take(batches)
	s.worker.logger.LogAttrs(ctx, slog.LevelInfo, "published everything", p.attrs()...)
	return s.commit(ctx, p, now, token)
}

// publishChanges publishes what sealed batches and the passing of time touch.
func (s *session) publishChanges(ctx context.Context, now time.Time) error {
	batches, err := s.untaken(ctx, now)
	if err != nil {
		return err
	}
	due, err := s.worker.warehouse.ProposalsDue(ctx, now)
	if err != nil {
		return err
	}
	if len(batches) == 0 && len(due) == 0 && len(s.unsettled) == 0 && s.lookedAtForums {
		return s.beat(ctx, now, "")
	}
	ctx, span := s.worker.tracer.Begin(ctx, "publish changes", trace.SpanKindInternal)
	defer span.End()
	p := newPublication(s.worker, s.nextRevision(now), now)
	touched := warehouse.NewChangeSet()
	for _, ref := range due {
		touched.Proposals[ref] = true
	}
	for _, batch := range batches {
		if p.sealedAt.IsZero() || batch.CommittedAt.Before(p.sealedAt) {
			p.sealedAt = batch.CommittedAt
		}
		maps.Copy(touched.Proposals, batch.Changes.Proposals)
		maps.Copy(touched.Sources, batch.Changes.Sources)
	}
	p.before, p.since = s.unsettled, s.published.Revision
	p.voteCoverage = s.voteCoverage
	if err := s.publishTouched(ctx, p, touched); err != nil {
		return fmt.Errorf("publish %d batches: %w", len(batches), err)
	}
	s.take(batches)
	s.lookedAtForums = true
	s.worker.logger.LogAttrs(ctx, slog.LevelInfo, "published changes",
		append(p.attrs(), slog.Int("batches", len(batches)))...)
	return s.commit(ctx, p, now, "")
}

func (s *session) publishTouched(ctx context.Context, p *publication, touched warehouse.ChangeSet) error {
	if err := p.loadCatalog(ctx); err != nil {
		return err
	}
	daos := maps.Clone(s.unsettled)
	if !s.lookedAtForums {
		p.touchAllForums()
	}
	for source := range touched.Sources {
		p.touchForum(source)
		daoID := p.catalog.OwnerOf(source)
		daos[daoID] = true
		moved, err := s.worker.warehouse.ProposalsMoved(ctx, source, daoID)
		if err != nil {
			return err
		}
		for _, ref := range moved {
			touched.Proposals[ref] = true
		}
	}
	if err := p.loadCounterparts(ctx, touched.Proposals); err != nil {
		return err
	}
	refs := slices.SortedFunc(maps.Keys(touched.Proposals), func(a, b record.RefHash) int {
		return slices.Compare(a[:], b[:])
	})
	return p.run(ctx, refs, daos)
}

// take notes that batches are published.
func (s *session) take(batches []warehouse.CommittedBatch) {
	for _, batch := range batches {
		s.taken[batch.ID] = batch.CommittedAt
	}
}

// untaken returns the sealed batches that are not published yet. When the warehouse's
// clock was set back, batches are sealed before the time up to which they are published.
func (s *session) untaken(ctx context.Context, now time.Time) ([]warehouse.CommittedBatch, error) {
	since := time.UnixMicro(min(s.published.CommittedThrough, now.UnixMicro())).Add(-sealOverlap)
	batches, err := s.worker.warehouse.CommittedBatches(ctx, since)
	if err != nil {
		return nil, err
	}
	maps.DeleteFunc(s.taken, func(_ uuid.UUID, sealedAt time.Time) bool { return sealedAt.Before(since) })
	return slices.DeleteFunc(batches, func(b warehouse.CommittedBatch) bool {
		_, taken := s.taken[b.ID]
		return taken
	}), nil
}

// commit makes a publication the current one; token is as in beat.
func (s *session) commit(ctx context.Context, p *publication, now time.Time, token string) error {
	s.hold(p)
	s.published.Revision = p.revision
	s.unsettled = p.unsettled
	s.voteCoverage = p.voteCoverage
	s.published.LaggingDAOs = slices.Sorted(maps.Keys(p.unsettled))
	s.worker.metrics.observe(p)
	if err := s.beat(ctx, now, token); err != nil {
		return err
	}
	// After it: who hears the first one looks whether everything is published.
	select {
	case s.worker.copiesPending <- struct{}{}:
	default:
	}
	s.worker.onPublish()
	s.worker.invalidate(ctx, p.writer)
	return nil
}

// beat tells API nodes that everything sealed until now is published. Its token is
// that of cache.BeginFullPublication where everything was.
func (s *session) beat(ctx context.Context, now time.Time, token string) error {
	s.published.CommittedThrough = now.UnixMicro()
	s.published.HeartbeatAt = governance.TimestampOf(s.began)
	if err := s.worker.lease.SetPublicationState(ctx, s.published, token); err != nil {
		return err
	}
	s.worker.metrics.through.Set(float64(now.UnixMilli()) / 1000)
	s.worker.metrics.lag.through(now, s.held)
	s.worker.metrics.unsettled.Set(float64(len(s.unsettled)))
	return nil
}

// nextRevision is later than any before, and follows the warehouse's clock, so
// that the revisions of two workers order as their readings do.
func (s *session) nextRevision(now time.Time) uint64 {
	return max(uint64(now.UnixMicro()), s.published.Revision+1)
}
