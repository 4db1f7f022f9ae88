package importer

import (
	"context"
	"time"

	"pnyx/warehouse"
	"pnyx/warehouse/record"
)

// retryTimeout is how long an import waits for a warehouse that went away: long enough
// for the engine to be started again, not so long that nobody notices.
const retryTimeout = time.Minute

// append writes a batch, again and again while the warehouse is away. Writing
// twice does no harm.
func (r *importRun) append(ctx context.Context, records []record.Record) (counts warehouse.Counts, err error) {
	err = r.retry(ctx, func() error {
		counts, err = r.Warehouse.Append(ctx, r.run, records)
		return err
	})
	return counts, err
}

func (r *importRun) retry(ctx context.Context, do func() error) error {
	return warehouse.Retry(ctx, retryTimeout, r.Logger, do)
}
