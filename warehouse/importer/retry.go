package importer

import (
	"context"
	"slices"
	"time"

	"pnyx/warehouse"
	"pnyx/warehouse/records"
)

// retryTimeout is how long an import retries while the warehouse is unreachable. It
// outlasts a restart of the engine.
const retryTimeout = time.Minute

// append writes a batch and retries while the warehouse is unreachable. Writing a batch twice changes nothing.
func (r *importRun) append(ctx context.Context, of batch) (counts records.Counts, err error) {
	run := r.run
	if of.whole && !slices.ContainsFunc(r.files, (*fileGaps).areKnown) {
		run.Unread = nil
	}
	err = r.retry(ctx, func() error {
		counts, err = records.Append(ctx, r.Warehouse, run, of.records)
		return err
	})
	return counts, err
}

// retry calls do until it succeeds, as [warehouse.Retry] does, for up to retryTimeout.
func (r *importRun) retry(ctx context.Context, do func() error) error {
	return warehouse.Retry(ctx, retryTimeout, r.Logger, do)
}
