package publish

import (
	"context"

	"golang.org/x/sync/errgroup"
)

// readAhead reads groups of rows, two at a time, and writes them one at a time in their order. A
// statement seldom uses all cores of the server; three groups at most are in memory.
func readAhead[G, R any](
	ctx context.Context, groups []G,
	read func(ctx context.Context, group G) (R, error), write func(ctx context.Context, rows R) error,
) error {
	running, ctx := errgroup.WithContext(ctx)
	// One group waits for its place here, one has it, and one is written.
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
