package worker_test

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"pnyx/worker"
)

// A leader that would check for batches once in an hour publishes what it is told of.
func TestLeaderPublishesWhatItIsToldOf(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.warehouse.OnCommit(func(ctx context.Context) {
		if err := h.store.NotifyCommitted(ctx); err != nil {
			t.Error(err)
		}
	})
	leader := worker.NewLeader(worker.Options{
		Warehouse: h.warehouse, Store: h.store, PublishInterval: time.Hour, LeaseTTL: leaseTTL,
		Logger: slog.New(slog.DiscardHandler), Metrics: prometheus.NewRegistry(),
	})
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { leader.Run(ctx) })
	t.Cleanup(func() {
		cancel()
		running.Wait()
	})
	h.waitForPublication()
	h.append(proposal("a"), vote("a", "0x1", "1"))
	h.waitForVotes(keyOf("dao.eth", "a"), "1")
	h.append(vote("a", "0x2", "2"))
	h.waitForVotes(keyOf("dao.eth", "a"), "2")
}
