package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// Latencies returns the loads that run at half of the saturation rate, each alone and
// while a worker publishes.
func Latencies() []Latency {
	var all []Latency
	for _, publishing := range []bool{false, true} {
		suffix, id := "", ""
		if publishing {
			suffix, id = fmt.Sprintf(", %d proposals being published, again and again", changedBatchSize), "-publishing"
		}
		all = append(all,
			Latency{ID: "latency-free" + id, Name: "hot free route" + suffix, Publishing: publishing, Prepare: freeLoad},
			Latency{ID: "latency-paid" + id, Name: "hot paid route" + suffix, Publishing: publishing, Prepare: paidLoad},
			Latency{ID: "latency-cold" + id, Name: "cold pages of ballots" + suffix, Publishing: publishing, Prepare: coldLoad},
		)
	}
	return all
}

func freeLoad(ctx context.Context, w *World) (Load, error) {
	url, _, err := w.hotFree(ctx)
	if err != nil {
		return Load{}, err
	}
	rate, err := w.saturation("hot-free", func() (float64, error) { return w.Saturate(url, nil)(ctx) })
	return Load{URLs: []string{url}, Saturation: rate}, err
}

func paidLoad(ctx context.Context, w *World) (Load, error) {
	url, header, _, err := w.hotPaid(ctx)
	if err != nil {
		return Load{}, err
	}
	rate, err := w.saturation("hot-paid", func() (float64, error) { return w.Saturate(url, header)(ctx) })
	return Load{URLs: []string{url}, Header: header, Saturation: rate}, err
}

// coldSample is how long cold pages are requested to measure the saturation rate.
const coldSample = 3 * time.Second

// coldLoad requests deep pages of the largest proposal that are not in any cache.
func coldLoad(ctx context.Context, w *World) (Load, error) {
	urls, err := w.coldPages(ctx)
	if err != nil {
		return Load{}, err
	}
	load := Load{URLs: urls, Header: w.internal()}
	load.Saturation, err = w.saturation("cold", func() (float64, error) {
		drive, err := newDrive(load, coldConcurrency)
		if err != nil {
			return 0, err
		}
		defer drive.close()
		taken, failed, err := drive.run(ctx, 0, coldSample)
		if failed > 0 {
			err = errors.Join(err, fmt.Errorf("%d cold pages failed", failed))
		}
		return float64(taken.TotalCount()) / coldSample.Seconds(), err
	})
	if err != nil {
		return Load{}, err
	}
	return load, w.forgetPages(ctx)
}

// coldConcurrency is the concurrency at which the saturation rate of cold pages is measured.
const coldConcurrency = 8

// coldWanted is the number of pages that a cold load needs to request none twice.
const coldWanted = 600

// coldPages walks until it has enough pages, and then removes them from Redis.
func (w *World) coldPages(ctx context.Context) ([]string, error) {
	if len(w.coldURLs) < coldWanted {
		sides, err := w.walk(ctx, "power")
		if err != nil {
			return nil, err
		}
		for len(w.coldURLs) < coldWanted {
			if _, err := sides.Ours(ctx); err != nil {
				return nil, err
			}
		}
	}
	return w.coldURLs, w.forgetPages(ctx)
}

// saturation returns the median of a row. If the row was not measured, it measures once.
func (w *World) saturation(id string, measure func() (float64, error)) (float64, error) {
	if rate, known := w.saturations[id]; known {
		return rate, nil
	}
	rate, err := measure()
	w.saturations[id] = rate
	return rate, err
}

// changedBatchSize is the number of proposals that each publication during a load updates.
const changedBatchSize = 500

// keepPublishing imports ballots on many proposals until stop is called, so that the
// worker always has data to publish. stop waits for the last import: the embedded
// engine restarts when a client disconnects while it sends.
func (w *World) keepPublishing(ctx context.Context) (stop func()) {
	stopped := make(chan struct{})
	var publishing sync.WaitGroup
	publishing.Go(func() {
		for {
			select {
			case <-stopped:
				return
			default:
			}
			if err := w.touch(ctx); err != nil {
				fmt.Fprintln(w.Log, "  nothing is published meanwhile:", err)
				return
			}
		}
	})
	return func() {
		close(stopped)
		publishing.Wait()
	}
}

// touch imports a ballot on each of many proposals.
func (w *World) touch(ctx context.Context) error {
	proposals, err := w.proposals(ctx, "provider = 'snapshot' AND votes > 0 ORDER BY proposal_key", changedBatchSize)
	if err != nil {
		return err
	}
	var lines strings.Builder
	for _, p := range proposals {
		lines.WriteString(w.newBallot(p) + "\n")
	}
	path := filepath.Join(w.Dir, "touch.ndjson")
	if err := os.WriteFile(path, []byte(lines.String()), 0o600); err != nil {
		return err
	}
	_, err = w.Run(ctx, Program{Args: []string{w.Pnyx, "import", path}, Env: w.warehouseEnv(), Nice: w.Niceness})
	return err
}

// publishedPattern matches the key of the publication state. Without it a worker
// publishes everything again. Existing views are served meanwhile.
const publishedPattern = "pnyx:*:{worker}:publication"

// republish makes the worker publish everything once.
func (w *World) republish(ctx context.Context) error {
	keys, err := w.store.Keys(ctx, publishedPattern).Result()
	if err != nil || len(keys) != 1 {
		return errors.Join(fmt.Errorf("find the mark of publication: %d", len(keys)), err)
	}
	if err := w.store.Del(ctx, keys[0]).Err(); err != nil {
		return err
	}
	return w.worker.until(ctx, func() error { return w.store.Get(ctx, keys[0]).Err() })
}
