package worker_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"pnyx/cache"
	"pnyx/warehouse/counts"
	"pnyx/worker"
)

func TestSettleCompletesWhatWasCutOff(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	h.append(proposal("a"), vote("a", "0x1", "1"), proposal("b"), vote("b", "0x2", "2"))
	settle := func(ctx context.Context, progress func(int, int)) error {
		o := h.options()
		o.Progress = progress
		_, err := worker.NewLeader(o).Settle(ctx)
		return err
	}
	if n, err := counts.UnpublishedProposals(t.Context(), h.warehouse); err != nil || n != 2 {
		t.Errorf("before: got %d unpublished proposals, %v, want 2", n, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	if err := settle(ctx, func(int, int) { cancel() }); err == nil {
		t.Error("cut off: got no error, want one")
	}
	// The lease was released, and the next call finds nothing that counts as complete.
	if err := settle(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if n, err := counts.UnpublishedProposals(t.Context(), h.warehouse); err != nil || n != 0 {
		t.Errorf("after: got %d unpublished proposals, %v, want 0", n, err)
	}
	h.waitForVotes(keyOf("dao.eth", "a"), "1")
	h.waitForVotes(keyOf("dao.eth", "b"), "1")

	h.append(vote("a", "0x3", "4"))
	if n, err := counts.UnpublishedProposals(t.Context(), h.warehouse); err != nil || n != 1 {
		t.Errorf("after another ballot: got %d unpublished proposals, %v, want 1", n, err)
	}
	// A lease that another worker takes and lets expire is taken again.
	var once sync.Once
	if err := settle(t.Context(), func(int, int) {
		once.Do(func() {
			h.redis.Set(t.Context(), string(cache.Namespace)+"{worker}:lease", "another", 200*time.Millisecond)
		})
	}); err != nil {
		t.Fatal(err)
	}
	h.waitForVotes(keyOf("dao.eth", "a"), "2")
}
