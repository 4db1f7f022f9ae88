package publish

import (
	"context"
	"encoding/hex"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"pnyx/warehouse"
	"pnyx/warehouse/counts"
	"pnyx/warehouse/record"
	"pnyx/warehouse/records"
)

const (
	// rangesPerRecount bounds what one statement of a recount counts: a quarter of a second on one thread, and 64
	// MB.
	rangesPerRecount = 64
	// recountInterval is the least time between two whole counts of a proposal or DAO.
	recountInterval = time.Minute
	// recountRest is the pause after a whole count, in times of its own, up to maxRecountRest, unless a ballot
	// comes to a subject that has no sums yet.
	recountRest    = 4
	maxRecountRest = 10 * time.Minute
)

// Recount counts large proposals and DAOs that have changed whole, one after the other, until ctx ends. It runs
// concurrently with Run, which adds up what it has counted. Where the two differ, the recount is published and
// reported.
func (p *Publisher) Recount(ctx context.Context) {
	for ctx.Err() == nil {
		p.AwaitFullPublication(ctx)
		began := time.Now()
		found, err := p.recountNext(ctx, began.Add(-p.recountInterval))
		if err != nil && ctx.Err() == nil {
			p.Errors.Inc()
			p.Logger.LogAttrs(ctx, slog.LevelError, "recount failed, retrying", slog.Any("error", err))
		}
		pause, wanted := p.recountInterval, [...]<-chan struct{}{p.totals.wanted, p.voters.wanted}
		if found {
			pause = min(recountRest*time.Since(began), maxRecountRest)
			wanted = [...]<-chan struct{}{p.totals.urgent, p.voters.urgent}
		}
		select {
		case <-ctx.Done():
		case <-wanted[0]:
		case <-wanted[1]:
		case <-time.After(pause):
		}
	}
}

// recountNext counts a proposal or DAO that has changed and was last counted before a time, if there is one. Both
// come first in turns, so that many of one kind keep none of the other waiting.
func (p *Publisher) recountNext(ctx context.Context, before time.Time) (found bool, err error) {
	if p.isPublishingEverything(ctx) {
		return false, nil
	}
	kinds := []func(context.Context, time.Time) (bool, error){recountNextOf(p, p.recountedProposals()), recountNextOf(p, p.recountedDAOs())}
	if p.daosFirst {
		slices.Reverse(kinds)
	}
	p.daosFirst = !p.daosFirst
	for _, recount := range kinds {
		if found, err := recount(ctx, before); found {
			return true, err
		}
	}
	return false, nil
}

// recounted is a kind of subject that is counted whole.
type recounted[K comparable, S any] struct {
	sums *rangeSums[K, S]
	// proposals returns those that a subject's ballots are on, and starts divides their voters.
	proposals func(context.Context, K) ([]record.RefHash, error)
	starts    func(ctx context.Context, w *warehouse.Warehouse, key K, size uint64) ([]string, error)
	count     countOfRanges[K, S]
	// difference and name report a subject whose sums were wrong, which correct has published again.
	difference string
	name       func(K) slog.Attr
	correct    func(K)
}

func (p *Publisher) recountedProposals() recounted[record.RefHash, counts.VoteTotals] {
	return recounted[record.RefHash, counts.VoteTotals]{
		p.totals, func(_ context.Context, ref record.RefHash) ([]record.RefHash, error) {
			return []record.RefHash{ref}, nil
		},
		counts.RangeStarts, counts.RangeTotals, "published totals differ from a recount, which replaces them",
		func(ref record.RefHash) slog.Attr { return slog.String("proposal_ref", hex.EncodeToString(ref[:])) }, p.corrections.add,
	}
}

func (p *Publisher) recountedDAOs() recounted[string, counts.Participation] {
	proposals := func(ctx context.Context, id string) ([]record.RefHash, error) {
		refs, err := counts.DAOProposals(ctx, p.Warehouse, id)
		p.voters.setProposals(id, refs)
		return refs, err
	}
	return recounted[string, counts.Participation]{
		p.voters.rangeSums, proposals,
		counts.DAORangeStarts, counts.RangeParticipation, "published participation differs from a recount, which replaces it",
		func(id string) slog.Attr { return slog.String("dao_id", id) }, p.corrections.addDAO,
	}
}

func recountNextOf[K comparable, S any](p *Publisher, of recounted[K, S]) func(context.Context, time.Time) (bool, error) {
	return func(ctx context.Context, before time.Time) (found bool, err error) {
		key, count, ok := of.sums.next(before)
		if !ok {
			return false, nil
		}
		if !count.urgent { // else each ballot is counted with all others until this is done
			ctx = warehouse.InBackground(ctx)
		}
		if err = recount(ctx, p, of, key, count); err != nil {
			of.sums.fail(key, count, time.Now())
		}
		return true, err
	}
}

func recount[K comparable, S any](ctx context.Context, p *Publisher, of recounted[K, S], key K, count *wholeCount) error {
	began := time.Now()
	refs, err := of.proposals(ctx, key)
	if err != nil {
		return err
	}
	starts, err := of.starts(ctx, p.Warehouse, key, p.votersPerRange)
	if err != nil {
		return err
	}
	ranges := counts.RangesOf(starts)
	sums, err := countRanges(ctx, p.Warehouse, key, ranges, rangesPerRecount, of.count)
	if err != nil {
		return err
	}
	pending, all, err := p.pendingVoters(ctx, refs)
	if err != nil {
		return err
	}
	wrong := of.sums.done(key, count, ranges, sums, pending, all, time.Now())
	p.metrics.recounts.Observe(time.Since(began).Seconds())
	if len(wrong) == 0 {
		return nil
	}
	p.metrics.recountDifferences.Inc()
	p.Logger.LogAttrs(ctx, slog.LevelError, of.difference, //nolint:sloglint // one of two messages
		of.name(key), slog.Int("ranges", len(wrong)), slog.String("first_voter", wrong[0].From))
	of.correct(key)
	return nil
}

// pendingVoters returns the voters in batches that no publication has read, as records.PendingVoters does.
func (p *Publisher) pendingVoters(ctx context.Context, refs []record.RefHash) (voters map[string]bool, all bool, err error) {
	published, err := p.Store.PublicationState(ctx)
	if err != nil {
		return nil, false, err
	}
	read := time.UnixMicro(published.CommittedThrough).Add(-p.recountOverlap)
	return records.PendingVoters(ctx, p.Warehouse, refs, read)
}

// corrections are what differed from a recount. It is published again, proposals with a flag.
type corrections struct {
	mu               sync.Mutex
	pending, flagged map[record.RefHash]bool
	daos             map[string]bool
}

func (c *corrections) add(ref record.RefHash) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pending[ref], c.flagged[ref] = true, true
}

func (c *corrections) addDAO(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.daos[id] = true
}

// take returns the proposals and DAOs to publish again; putBack keeps them when that fails.
func (c *corrections) take() (refs []record.RefHash, daoIDs []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	refs, daoIDs = slices.Collect(maps.Keys(c.pending)), slices.Collect(maps.Keys(c.daos))
	clear(c.pending)
	clear(c.daos)
	return refs, daoIDs
}

func (c *corrections) putBack(refs []record.RefHash, daoIDs []string) {
	for _, ref := range refs {
		c.add(ref)
	}
	for _, id := range daoIDs {
		c.addDAO(id)
	}
}

// arePending reports whether take would return any.
func (c *corrections) arePending() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.pending)+len(c.daos) > 0
}

func (c *corrections) isFlagged(ref record.RefHash) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.flagged[ref]
}
