package publish

import (
	"context"
	"time"

	"pnyx/warehouse"
)

// maxBackgroundWait bounds how long a piece of work waits for its turn: the sorted copy of a
// DAO of millions of votes takes a minute, and first pages have to follow the ballots.
const maxBackgroundWait = 5 * time.Second

// background lets the work that no result waits for run one piece at a time: sorted copies,
// first pages and recounts. Together they would leave a publication a quarter of a core.
type background chan struct{}

func newBackground() background { return make(background, 1) }

// run does a piece of work once no other is being done, or after maxBackgroundWait. It returns
// the cause of ctx where that ends before.
func (b background) run(ctx context.Context, work func() error) error {
	timer := time.NewTimer(maxBackgroundWait)
	defer timer.Stop()
	select {
	case b <- struct{}{}:
		defer func() { <-b }()
	case <-timer.C:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
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
