package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/valyala/fasthttp"
)

const (
	// overloadFactor is how many times as many pages are requested as the worker can make.
	overloadFactor = 2
	// overloadConnections are enough that a request that waits delays no other.
	overloadConnections = 1500
)

// OverloadResult tells what becomes of requests for pages that nobody asked for before, when
// more are sent than can be made. Durations are in milliseconds, from when a request was due.
type OverloadResult struct {
	// Name describes the pages.
	Name string
	// Offered and Served are requests and pages a second.
	Offered, Served float64
	// P50, P99 and Max are latencies of pages.
	P50, P99, Max float64
	// Refused is how many requests of Count were answered by 503 with Retry-After, and
	// RefusedP99 the 99th percentile of how long that took.
	Refused, Count int64
	RefusedP99     float64
	// Failed is how many were answered in any other way.
	Failed int64
}

// refusals collects how long it took to refuse a request.
type refusals struct {
	mu    sync.Mutex
	taken *hdrhistogram.Histogram
}

// add adds a refusal, and reports whether an answer is one.
func (r *refusals) add(answer *fasthttp.Response, took time.Duration) bool {
	if r == nil || answer.StatusCode() != http.StatusServiceUnavailable || len(answer.Header.Peek("Retry-After")) == 0 {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	_ = r.taken.RecordValue(max(1, min(took, maxLatency).Microseconds())) // within its bounds
	return true
}

// overload sends twice the requests that a kind of cold pages allows with 64 callers.
func (e *Environment) overload(ctx context.Context, kind coldKind) (o OverloadResult, err error) {
	load, err := e.coldLoadOf(ctx, kind)
	if err != nil {
		return o, err
	}
	rate, err := e.saturation(kind.row(connections), func() (float64, error) {
		if err := e.forgetPages(ctx); err != nil {
			return 0, err
		}
		return e.closedLoad(ctx, load, connections, true)
	})
	if err := errors.Join(err, e.forgetPages(ctx)); err != nil {
		return o, err
	}
	drive, err := newDrive(load, overloadConnections)
	if err != nil {
		return o, err
	}
	defer drive.close()
	drive.once, drive.refusals = true, &refusals{taken: hdrhistogram.New(1, maxLatency.Microseconds(), 3)}
	began := time.Now()
	taken, failed, err := drive.run(ctx, overloadFactor*rate, fillLength)
	took := time.Since(began).Seconds()
	if failed > 0 {
		fmt.Fprintf(e.Log, "  %d failed, the first with %s\n", failed, *drive.failure.Load())
	}
	refused := drive.refusals.taken
	served := taken.TotalCount() - failed
	return OverloadResult{
		Name: kind.name, Offered: overloadFactor * rate, Served: float64(served) / took,
		P50: inMilliseconds(taken.ValueAtQuantile(50)), P99: inMilliseconds(taken.ValueAtQuantile(99)), Max: inMilliseconds(taken.Max()),
		Refused: refused.TotalCount(), Count: taken.TotalCount() + refused.TotalCount(),
		RefusedP99: inMilliseconds(refused.ValueAtQuantile(99)), Failed: failed,
	}, err
}
