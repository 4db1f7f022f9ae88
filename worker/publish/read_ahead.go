package publish

import (
	"context"

	"golang.org/x/sync/errgroup"
)

// readAhead reads the next groups of rows while one is written, and writes them in their order. A
// statement seldom uses all cores of the server. At most three groups are read, waiting or
// written.
func readAhead[G, R any](
	ctx context.Context, groups []G,
	read func(ctx context.Context, group G) (R, error), write func(ctx context.Context, rows R) error,
) error {
	running, ctx := errgroup.WithContext(ctx)
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
