package publish

import (
	"context"

	"pnyx/panics"
	"pnyx/warehouse/counts"
	"pnyx/warehouse/pages"
	"pnyx/warehouse/record"
)

// Bounds of what is evaluated together: a query is worth its overhead, and memory is bounded.
const (
	proposalBatchSize = 4000
	maxCasts          = 1_000_000
	daoBatchSize      = 200
)

type chunk struct {
	refs        []record.RefHash
	evaluations []evaluation
	// published are the states published before, but of withdrawn proposals; listed the versions that lists show.
	published map[record.RefHash]counts.ProposalState
	listed    map[record.RefHash]pages.ListedVersion
}

// readAhead reads the next groups while one is written: a statement seldom uses all cores of the server. They are
// written in order, and at most three are read, waiting or written.
func readAhead[G, R any](
	ctx context.Context, groups []G,
	read func(ctx context.Context, group G) (R, error), write func(ctx context.Context, rows R) error,
) error {
	running, ctx := panics.WithContext(ctx)
	// One group is here, one waits for that place, and one is awaited or written.
	ahead := make(chan chan R, 1)
	running.Go(func() error {
		defer close(ahead)
		for _, group := range groups {
			rows := make(chan R, 1)
			running.Go(func() error {
				found, err := read(ctx, group)
				if err == nil {
					rows <- found
				}
				return err
			})
			select {
			case ahead <- rows:
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
		return nil
	})
	running.Go(func() error {
		for rows := range ahead {
			select {
			case found := <-rows:
				if err := write(ctx, found); err != nil {
					return err
				}
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
		return nil
	})
	return running.Wait()
}
