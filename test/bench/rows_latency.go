package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
)

// Latencies returns the loads, each alone and while a worker publishes.
func Latencies() []Latency {
	var all []Latency
	for _, publishing := range []bool{false, true} {
		suffix, id := "", ""
		if publishing {
			suffix, id = fmt.Sprintf(", while %d proposals are published repeatedly", changedBatchSize), "-publishing"
		}
		all = append(all,
			Latency{ID: "latency-free" + id, Name: "hot free route" + suffix, Publishing: publishing, Prepare: hotLoad("hot-free", (*Environment).hotFree)},
			Latency{ID: "latency-fiber" + id, Name: "plain Fiber handler, constant body" + suffix, Publishing: publishing, Prepare: fiberLoad},
			Latency{ID: "latency-paid" + id, Name: "hot paid route" + suffix, Publishing: publishing, Prepare: hotLoad("hot-paid", (*Environment).hotPaid)},
			Latency{ID: "latency-cold" + id, Name: "cold pages of ballots" + suffix, Publishing: publishing, Prepare: coldLoad},
		)
	}
	return all
}

// hotLoad requests a hot route, whose row has an ID.
func hotLoad(id string, hot hotRoute) func(context.Context, *Environment) Load {
	return func(ctx context.Context, e *Environment) Load {
		url, header, _ := hot(e, ctx)
		rate := saturation(e, id, func() float64 { return e.Saturate(url, header)(ctx) })
		return Load{URLs: []string{url}, Header: header, Saturation: rate}
	}
}

// fiberLoad is the free route of a minimal Fiber server: what remains belongs to the generator and the machine.
func fiberLoad(ctx context.Context, e *Environment) Load {
	load := hotLoad("hot-free", (*Environment).hotFree)(ctx, e)
	_, _, size := e.hotFree(ctx)
	load.URLs = []string{FiberBaseline(ctx, e, size, "")}
	return load
}

// coldLoad requests deep pages of the largest proposal that are not in any cache.
func coldLoad(ctx context.Context, e *Environment) Load {
	load := Load{URLs: coldPages(ctx, e), Header: e.internal()}
	load.Saturation = saturation(e, "cold", func() float64 { return closedLoad(ctx, e, load, coldConcurrency, false) })
	forgetPages(ctx, e)
	return load
}

const (
	// coldConcurrency is the concurrency at which the saturation rate of cold pages is measured.
	coldConcurrency = 8
	// coldWanted is the number of pages that a cold load needs to request none twice.
	coldWanted = 600
)

// coldPages returns pages in random order, none of them stored.
func coldPages(ctx context.Context, e *Environment) []string {
	if len(e.coldURLs) > 0 {
		forgetPages(ctx, e)
		return e.coldURLs
	}
	walk := newWalk(ctx, e, "power", shortWalk, 1)
	for range coldWanted {
		e.coldURLs = append(e.coldURLs, walk.path+walk.cursor)
		walk.page(ctx)
	}
	rand.Shuffle(len(e.coldURLs), func(i, j int) { e.coldURLs[i], e.coldURLs[j] = e.coldURLs[j], e.coldURLs[i] }) //nolint:gosec // not secret
	forgetPages(ctx, e)
	return e.coldURLs
}

// saturation returns the median of a row. If the row was not measured, it measures once.
func saturation(e *Environment, id string, measure func() float64) float64 {
	if rate, known := e.saturations[id]; known {
		return rate
	}
	e.saturations[id] = measure()
	return e.saturations[id]
}

// changedBatchSize is the number of proposals that each publication during a load updates.
const changedBatchSize = 500

// keepPublishing changes ballots on many proposals until stop is called. stop waits for the last import: the
// embedded engine restarts when a client disconnects while it sends.
func keepPublishing(ctx context.Context, e *Environment) (stop func()) {
	var stopped atomic.Bool
	var publishing sync.WaitGroup
	publishing.Go(func() {
		for !stopped.Load() {
			if err := caught(func() { touch(ctx, e) }); err != nil {
				fmt.Fprintln(e.Log, "  publishing failed during the measurement:", err)
				return
			}
		}
	})
	return func() {
		stopped.Store(true)
		publishing.Wait()
	}
}

// touch changes a ballot on each of many proposals.
func touch(ctx context.Context, e *Environment) {
	var lines strings.Builder
	for _, p := range e.proposals(ctx, "provider = 'snapshot' AND votes > 0 ORDER BY proposal_key", changedBatchSize) {
		lines.WriteString(changedBallot(e, p) + "\n")
	}
	importText(ctx, e, lines.String(), e.warehouseEnv(), e.Niceness)
}

// publishedPattern matches the key of the publication state, without which a worker publishes everything.
const publishedPattern = "pnyx:*:{worker}:publication"

func republish(ctx context.Context, e *Environment) {
	keys, err := e.store.Keys(ctx, publishedPattern).Result()
	if err != nil || len(keys) != 1 {
		mustDo(errors.Join(fmt.Errorf("find the key of the publication state: %d keys", len(keys)), err))
	}
	mustDo(e.store.Del(ctx, keys[0]).Err())
	// As after a batch, so that the interval at which the worker checks is not measured too.
	channel := strings.TrimSuffix(keys[0], "publication") + "committed"
	mustDo(e.store.Publish(ctx, channel, "").Err())
	mustDo(e.worker.until(ctx, func() error { return e.store.Get(ctx, keys[0]).Err() }))
}
