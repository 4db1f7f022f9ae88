package cmd

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"pnyx/config"
	"pnyx/warehouse"
	"pnyx/warehouse/engine"
	"pnyx/worker"
)

// ownsEngine reports whether this command runs the engine, so that no instance publishes what it writes.
func ownsEngine(cfg config.Config) bool {
	if cfg.Warehouse.URL != "" {
		return false
	}
	instance, err := engine.Find(cfg.Warehouse.Data)
	return err == nil && instance.OwnerPID == os.Getpid()
}

// publishImported publishes what is imported as a worker does: the views of analysts read what it has
// counted. An embedded Redis ends with the command, and its content is made again at the next start.
func (s *session) publishImported(ctx context.Context, out io.Writer, opened *warehouse.Warehouse) error {
	url, err := s.startRedis(ctx)
	if err != nil {
		return err
	}
	store, err := s.openCache(url, workerRedisTimeout)
	if err != nil {
		return err
	}
	began := time.Now()
	var progress atomic.Value
	progress.Store("publishing")
	stop := showProgress(func() string { return progress.Load().(string) }) //nolint:forcetypeassert,errcheck // stored above
	var published atomic.Int64
	lagging, err := worker.NewLeader(worker.Options{
		Warehouse: opened, Store: store, PublishInterval: s.cfg.Worker.PublishInterval, LeaseTTL: s.cfg.Worker.LeaseTTL,
		Progress: func(done, all int) {
			published.Store(int64(all))
			progress.Store(fmt.Sprintf("publishing %d of %d proposals", done, all))
		},
		Logger: s.logger, Metrics: prometheus.NewRegistry(),
	}).Settle(ctx)
	stop()
	if err != nil {
		return fmt.Errorf("the import is complete, but not published: repeat it, or start pnyx serve: %w", err)
	}
	fmt.Fprintf(out, "published %d proposals in %s\n", published.Load(), time.Since(began).Round(time.Millisecond))
	if len(lagging) > 0 {
		fmt.Fprintf(out, "not all numbers are new: the records of these DAOs contradict each other: %s\n", strings.Join(lagging, ", "))
	}
	return nil
}
