package worker_test

import (
	"context"
	"testing"
	"time"

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
	o := h.options()
	o.PublishInterval = time.Hour
	h.run(worker.NewLeader(o).Run)
	h.waitForPublication()
	h.append(proposal("a"), vote("a", "0x1", "1"))
	h.waitForVotes(keyOf("dao.eth", "a"), "1")
	h.append(vote("a", "0x2", "2"))
	h.waitForVotes(keyOf("dao.eth", "a"), "2")
}
