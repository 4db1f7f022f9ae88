package publish

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"

	"pnyx/cache"
	"pnyx/warehouse/record"
)

// TestIdlePublisherReadsNothingUntilItIsTold counts statements, because each keeps an idle
// engine busy.
func TestIdlePublisherReadsNothingUntilItIsTold(t *testing.T) {
	t.Parallel()
	e := newElectorate(t, 1)
	e.append([]record.Record{e.ballot()})
	e.step()
	e.step() // finds nothing more
	registry := prometheus.NewRegistry()
	e.publisher.Warehouse.Instrument(registry, nil)
	statements := func() (sum uint64) {
		t.Helper()
		families, err := registry.Gather()
		if err != nil {
			t.Fatal(err)
		}
		for _, family := range families {
			for _, metric := range family.GetMetric() {
				sum += metric.GetHistogram().GetSampleCount()
			}
		}
		return sum
	}
	idle := func() {
		t.Helper()
		if err := e.term.step(t.Context(), time.Hour); err != nil {
			t.Fatal(err)
		}
	}
	trips := &roundTrips{}
	cache.Client(e.publisher.Store.Conn()).AddHook(trips)
	before := statements()
	for range 10 {
		idle()
	}
	if got := statements() - before; got != 0 {
		t.Errorf("got %d statements in 10 idle steps, want 0", got)
	}
	if got := trips.count.Load(); got != 20 {
		t.Errorf("got %d round trips to Redis in 10 idle steps, want 20", got)
	}
	published := e.term.published.Revision
	e.append([]record.Record{e.ballot()})
	idle()
	if got := e.term.published.Revision; got != published {
		t.Errorf("got revision %d without being told of a batch, want %d", got, published)
	}
	e.step()
	if got := e.term.published.Revision; got == published {
		t.Errorf("got revision %d after being told of a batch, want a later one", got)
	}
}

// roundTrips is a hook that counts the round trips of a Redis client.
type roundTrips struct{ count atomic.Int64 }

func (*roundTrips) DialHook(next redis.DialHook) redis.DialHook { return next }

func (r *roundTrips) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, command redis.Cmder) error {
		r.count.Add(1)
		return next(ctx, command)
	}
}

func (r *roundTrips) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, commands []redis.Cmder) error {
		r.count.Add(1)
		return next(ctx, commands)
	}
}

func TestPublisherIsToldOfABatchThatCameWhileItWorked(t *testing.T) {
	t.Parallel()
	p := &Publisher{committed: make(chan struct{}, 1)}
	p.Wake()
	if !p.await(t.Context(), time.Hour) {
		t.Error("got false, want it to be told")
	}
	if p.await(t.Context(), time.Nanosecond) {
		t.Error("got true after the pause, want it not to be told twice")
	}
}
