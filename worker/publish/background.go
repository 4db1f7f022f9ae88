package publish

import (
	"context"

	"pnyx/warehouse"
)

// background lets the work that no result waits for run one piece at a time: sorted copies,
// first pages and recounts. Together they would leave a publication a quarter of a core.
type background chan struct{}

func newBackground() background { return make(background, 1) }

// run does a piece of work once no other is being done. It returns the cause of ctx where
// that ends before.
func (b background) run(ctx context.Context, work func() error) error {
	select {
	case b <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	defer func() { <-b }()
	return work()
}

// recountRanges counts ranges, each statement as a piece of work in the background.
func recountRanges[S any](
	ctx context.Context, b background, ranges []warehouse.VoterRange, count func([]warehouse.VoterRange) ([]S, error),
) ([]S, error) {
	return countRanges(ranges, rangesPerRecount, func(some []warehouse.VoterRange) (counted []S, err error) {
		err = b.run(ctx, func() error {
			counted, err = count(some)
			return err
		})
		return counted, err
	})
}
