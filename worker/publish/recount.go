package publish

import (
	"context"
	"encoding/hex"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"pnyx/governance"
	"pnyx/warehouse"
	"pnyx/warehouse/record"
	"pnyx/worker/backoff"
)

const (
	// votersPerRange is the mean number of voters in a range of a proposal; a power of two.
	// A range is one or two granules to read, and a proposal of 20 million ballots has some
	// 5,000 ranges to add up.
	votersPerRange = 4096
	// rangesPerStatement bounds the ranges that one statement counts, and
	// rangesPerRecount those that one of a recount does, which publications may wait for.
	rangesPerStatement, rangesPerRecount = 128, 4
	// recountInterval is the least time between two whole counts of a proposal.
	recountInterval = time.Minute
	// recountRest is how many times as long as a whole count the pause after it is, up to
	// maxRecountRest.
	recountRest    = 4
	maxRecountRest = 10 * time.Minute
)

// corrections are the proposals whose published totals differed from a recount. They are
// published again, flagged.
type corrections struct {
	mu      sync.Mutex
	pending map[record.RefHash]bool
	flagged map[record.RefHash]bool
}

func (c *corrections) add(ref record.RefHash) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.pending == nil {
		c.pending, c.flagged = map[record.RefHash]bool{}, map[record.RefHash]bool{}
	}
	c.pending[ref], c.flagged[ref] = true, true
}

// take returns the proposals to publish again. Those of a publication that fails are
// published with everything else that the next term finds.
func (c *corrections) take() []record.RefHash {
	c.mu.Lock()
	defer c.mu.Unlock()
	refs := slices.Collect(maps.Keys(c.pending))
	clear(c.pending)
	return refs
}

// arePending reports whether take would return any.
func (c *corrections) arePending() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.pending) > 0
}

func (c *corrections) isFlagged(ref record.RefHash) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.flagged[ref]
}

// voteTotals returns the vote totals of proposals: of large ones those of the ranges that
// changed are counted, and of all others all ballots.
func (p *Publisher) voteTotals(
	ctx context.Context, refs []record.RefHash,
) (map[record.RefHash]warehouse.VoteTotals, error) {
	ranged := map[record.RefHash]warehouse.VoteTotals{}
	var whole []record.RefHash
	for _, ref := range refs {
		sum, ok, err := p.totals.total(ref, func(ranges []warehouse.VoterRange) ([]warehouse.VoteTotals, error) {
			return p.rangeTotals(ctx, ref, ranges, rangesPerStatement)
		})
		if err != nil {
			return nil, err
		}
		if ok {
			ranged[ref] = sum
			p.metrics.ranged.Inc()
		} else {
			whole = append(whole, ref)
		}
	}
	if len(whole) == 0 {
		return ranged, nil
	}
	totals, err := p.Warehouse.VoteTotals(ctx, whole)
	if err != nil {
		return nil, err
	}
	maps.Copy(totals, ranged)
	return totals, nil
}

// rangeTotals returns the vote totals of ranges of a proposal's voters, counted by
// statements of a few ranges each.
func (p *Publisher) rangeTotals(
	ctx context.Context, ref record.RefHash, ranges []warehouse.VoterRange, perStatement int,
) ([]warehouse.VoteTotals, error) {
	sums := make([]warehouse.VoteTotals, 0, len(ranges))
	for some := range slices.Chunk(ranges, perStatement) {
		counted, err := p.Warehouse.RangeTotals(ctx, ref, some)
		if err != nil {
			return nil, err
		}
		sums = append(sums, counted...)
	}
	return sums, nil
}

// wantTotals makes the totals of a large proposal be kept by range. Those of a ranked vote
// are not: its last round follows from all ballots.
func (p *Publisher) wantTotals(e *evaluation) {
	if e.result.votes >= p.rangedFrom && e.proposal.VoteType != governance.RankedChoice && !e.proposal.Withdrawn {
		p.totals.want(e.proposal.Ref)
	}
}

// touch notes what batches change, before it is counted.
func (p *Publisher) touch(changes warehouse.ChangeSet) {
	for ref := range changes.Proposals {
		if changes.Voters == nil {
			p.totals.drop(ref)
		} else if voters := changes.Voters[ref]; voters != nil {
			p.totals.touch(ref, voters)
		}
	}
}

// Recount counts large proposals whole, one after the other, whenever they have changed,
// until ctx ends. It runs concurrently with Run, which adds up what it has counted. Where
// the two differ, the recount wins: the proposal is published again, and the difference is
// reported.
func (p *Publisher) Recount(ctx context.Context) {
	for ctx.Err() == nil {
		began := time.Now()
		ref, count, ok := p.totals.next(began.Add(-p.recountInterval))
		if !ok {
			timer := time.NewTimer(p.recountInterval)
			select {
			case <-ctx.Done():
			case <-p.totals.wanted:
			case <-timer.C:
			}
			timer.Stop()
			continue
		}
		if err := p.recount(ctx, ref, count); err != nil {
			p.totals.fail(ref, count, time.Now())
			if ctx.Err() == nil {
				p.Errors.Inc()
				p.Logger.LogAttrs(ctx, slog.LevelError, "recount failed, retrying", slog.Any("error", err))
			}
		}
		backoff.Wait(ctx, min(recountRest*time.Since(began), maxRecountRest))
	}
}

func (p *Publisher) recount(ctx context.Context, ref record.RefHash, count *wholeCount) error {
	began := time.Now()
	ctx = warehouse.InBackground(ctx)
	starts, err := p.Warehouse.RangeStarts(ctx, ref, p.votersPerRange)
	if err != nil {
		return err
	}
	ranges := warehouse.RangesOf(starts)
	sums, err := p.rangeTotals(ctx, ref, ranges, rangesPerRecount)
	if err != nil {
		return err
	}
	published, err := p.Store.PublicationState(ctx)
	if err != nil {
		return err
	}
	read := time.UnixMicro(published.CommittedThrough).Add(-p.recountOverlap)
	pending, all, err := p.Warehouse.PendingVoters(ctx, ref, read)
	if err != nil {
		return err
	}
	wrong := p.totals.done(ref, count, ranges, sums, pending, all, time.Now())
	p.metrics.recounts.Observe(time.Since(began).Seconds())
	if len(wrong) == 0 {
		return nil
	}
	p.metrics.recountDifferences.Inc()
	p.Logger.LogAttrs(ctx, slog.LevelError, "published totals differ from a recount, which replaces them",
		slog.String("proposal_ref", hex.EncodeToString(ref[:])), slog.Int("ranges", len(wrong)), slog.String("first_voter", wrong[0].From))
	p.corrections.add(ref)
	return nil
}
