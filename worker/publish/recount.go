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
	// rangesPerRecount bounds one statement of a recount: a quarter of a second on one thread, and 64 MB.
	rangesPerRecount = 64
	// recountInterval is the least time between two whole counts of a proposal or DAO.
	recountInterval = time.Minute
	// recountRest is how many times as long as a whole count the pause after it is, up to maxRecountRest, unless a
	// ballot comes to a subject that has no sums yet.
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
	kinds := []func(context.Context, time.Time) (bool, error){p.recountProposal, p.recountDAO}
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

func (p *Publisher) recountProposal(ctx context.Context, before time.Time) (found bool, err error) {
	ref, wrong, found, err := recountNextOf(ctx, p, p.totals, before, func(_ context.Context, ref record.RefHash) ([]record.RefHash, error) {
		return []record.RefHash{ref}, nil
	})
	if len(wrong) > 0 {
		p.Logger.LogAttrs(ctx, slog.LevelError, "published totals differ from a recount, which replaces them",
			slog.String("proposal_ref", hex.EncodeToString(ref[:])), slog.Int("ranges", len(wrong)), slog.String("first_voter", wrong[0].From))
		p.corrections.add(ref)
	}
	return found, err
}

func (p *Publisher) recountDAO(ctx context.Context, before time.Time) (found bool, err error) {
	id, wrong, found, err := recountNextOf(ctx, p, p.voters.rangeSums, before, func(ctx context.Context, id string) ([]record.RefHash, error) {
		refs, err := counts.DAOProposals(ctx, p.Warehouse, id)
		p.voters.setProposals(id, refs)
		return refs, err
	})
	if len(wrong) > 0 {
		p.Logger.LogAttrs(ctx, slog.LevelError, "published participation differs from a recount, which replaces it",
			slog.String("dao_id", id), slog.Int("ranges", len(wrong)), slog.String("first_voter", wrong[0].From))
		p.corrections.addDAO(id)
	}
	return found, err
}

// recountNextOf counts a subject of a kind whole, if one is due, and returns the ranges whose sum was wrong.
// proposalsOf returns those that its ballots are on.
func recountNextOf[K comparable, S any](
	ctx context.Context, p *Publisher, sums *rangeSums[K, S], before time.Time,
	proposalsOf func(context.Context, K) ([]record.RefHash, error),
) (key K, wrong []counts.VoterRange, found bool, err error) {
	key, count, found := sums.next(before)
	if !found {
		return key, nil, false, nil
	}
	if !count.urgent { // else each ballot is counted with all others until this is done
		ctx = warehouse.InBackground(ctx)
	}
	began := time.Now()
	refs, err := proposalsOf(ctx, key)
	if err == nil {
		wrong, err = recount(ctx, p, sums, key, refs, count)
	}
	if err != nil {
		sums.fail(key, count, time.Now())
		return key, nil, true, err
	}
	p.metrics.recounts.Observe(time.Since(began).Seconds())
	if len(wrong) > 0 {
		p.metrics.recountDifferences.Inc()
	}
	return key, wrong, true, nil
}

func recount[K comparable, S any](
	ctx context.Context, p *Publisher, of *rangeSums[K, S], key K, refs []record.RefHash, count *wholeCount,
) (wrong []counts.VoterRange, err error) {
	starts, err := of.starts(ctx, p.Warehouse, key, p.votersPerRange)
	if err != nil {
		return nil, err
	}
	ranges := counts.RangesOf(starts)
	sums, err := of.countRanges(ctx, p.Warehouse, key, ranges, rangesPerRecount)
	if err != nil {
		return nil, err
	}
	pending, all, err := p.pendingVoters(ctx, refs)
	if err != nil {
		return nil, err
	}
	return of.done(key, count, ranges, sums, pending, all, time.Now()), nil
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
