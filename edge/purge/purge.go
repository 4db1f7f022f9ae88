// Package purge removes outdated responses from the caches in front of the API, by their tags, in the background.
// What a lost purge leaves is outdated no longer than caches keep it anyway.
package purge

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"pnyx/backoff"
	"pnyx/telemetry"
)

const (
	requestTimeout = 5 * time.Second
	// minRetryDelay doubles with each failure up to maxRetryDelay, which also bounds a cache's Retry-After.
	minRetryDelay, maxRetryDelay = 500 * time.Millisecond, 15 * time.Second
	// lastPurgeTimeout bounds the last purge of a process that stops.
	lastPurgeTimeout = 2 * time.Second
)

// Options configures a Purger.
type Options struct {
	// Kind is the purge protocol of all caches.
	Kind Kind
	// URLs are the addresses that purges are sent to, one for each cache.
	URLs []string
	// Token authenticates to the caches; empty for none.
	Token string
	// Everything is the tag that every response carries. It replaces the others when there are too many.
	Everything string
	// Settle is how long after a publication nodes and edges may still send outdated responses, which a cache may
	// store again. Each tag is therefore purged once more after that.
	Settle time.Duration
	// Keeps is how long caches keep responses: a purge that fails for as long has nothing left to purge.
	Keeps time.Duration
	// Logger gets failures; URLs and tokens are never logged.
	Logger  *slog.Logger
	Metrics prometheus.Registerer
}

// Purger purges a set of caches. Purge may be called concurrently, and while Run runs; Run must be called once.
type Purger struct {
	client *http.Client
	// targets holds the state of each cache, in order of Options.URLs.
	targets []*target
}

// New returns a purger that does nothing until Run.
func New(o Options) *Purger {
	// Following a redirect would send the token to another host.
	client := &http.Client{
		Transport:     &http.Transport{Proxy: http.ProxyFromEnvironment, IdleConnTimeout: time.Minute},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Timeout:       requestTimeout,
	}
	m := newMetrics(o.Metrics)
	p := &Purger{client: client}
	for i, url := range o.URLs {
		p.targets = append(p.targets, &target{o, i + 1, url, client, newQueue(o.Everything, o.Settle, o.Keeps), m})
	}
	return p
}

// Purge queues tags whose responses are outdated, and returns at once.
func (p *Purger) Purge(tags []string) {
	now := time.Now()
	for _, t := range p.targets {
		t.queue.add(tags, now)
	}
}

// Run sends purges until ctx ends, then once more what is queued.
func (p *Purger) Run(ctx context.Context) {
	var running sync.WaitGroup
	for _, t := range p.targets {
		running.Go(func() { t.run(ctx) })
	}
	running.Wait()
	p.client.CloseIdleConnections()
}

// target is one cache. Each has its own queue, so that a cache that hangs delays no other.
type target struct {
	Options
	// number is the position in Options.URLs, from 1. Logs have it for the URL, which may contain a password.
	number  int
	url     string
	client  *http.Client
	queue   *queue
	metrics metrics
}

// run purges what is queued until ctx ends, then once more within lastPurgeTimeout. It waits for a growing, random
// delay after failures, else for a part of Settle, so that quick publications share a purge.
func (t *target) run(ctx context.Context) {
	retry := minRetryDelay
	for t.wait(ctx) {
		pause := t.Settle / 3
		if err := t.round(ctx); err != nil && ctx.Err() == nil {
			pause = backoff.Jitter(retry)
			if asked, is := errors.AsType[*busyError](err); is {
				pause = max(pause, min(asked.retryAfter, maxRetryDelay))
			}
			retry = min(2*retry, maxRetryDelay)
			t.Logger.LogAttrs(ctx, slog.LevelWarn, "purging a cache failed, retrying",
				slog.Int("cache", t.number), slog.Duration("pause", pause), slog.Any("error", err))
		} else {
			retry = minRetryDelay
		}
		backoff.Wait(ctx, pause)
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastPurgeTimeout)
	defer cancel()
	_ = t.round(last) // caches expire responses by themselves
}

// wait returns true when a tag is queued, and false when ctx ends.
func (t *target) wait(ctx context.Context) bool {
	for t.queue.empty() {
		select {
		case <-ctx.Done():
			return false
		case <-t.queue.filled:
		}
	}
	return ctx.Err() == nil
}

// round purges all queued tags. If a request fails, all stay queued: purging a tag twice does no harm.
func (t *target) round(ctx context.Context) error {
	began := time.Now()
	tags, dropped := t.queue.take(began)
	t.metrics.givenUp.Add(float64(dropped))
	for _, some := range t.Kind.batches(tags) {
		err := t.send(ctx, some)
		t.metrics.requests.WithLabelValues(outcome(err)).Inc()
		if err != nil {
			return err
		}
	}
	t.queue.done(began)
	t.metrics.tags.Add(float64(len(tags)))
	return nil
}

// send makes one request, within requestTimeout. Errors contain neither URL nor token.
func (t *target) send(ctx context.Context, tags []string) error {
	request, err := t.Kind.request(ctx, t.url, t.Token, tags)
	if err != nil {
		return fmt.Errorf("purge request: %w", err)
	}
	response, err := t.client.Do(request)
	if err != nil {
		return fmt.Errorf("purge request: %w", withoutURL(err))
	}
	defer response.Body.Close()
	return t.Kind.checkResponse(response)
}

type metrics struct {
	// requests counts by outcome, see outcome.
	requests *prometheus.CounterVec
	// tags counts purged tags, givenUp those that were dropped.
	tags, givenUp prometheus.Counter
}

func newMetrics(registerer prometheus.Registerer) metrics {
	return metrics{
		requests: telemetry.Counters(registerer, "pnyx_purge_requests_total",
			"Requests to purge caches, by outcome: done, busy (429) or failed.", "outcome"),
		tags: telemetry.Counter(registerer, "pnyx_purge_tags_total", "Tags purged, counted once per cache and round."),
		givenUp: telemetry.Counter(registerer, "pnyx_purge_given_up_total",
			"Tags dropped because purging failed for as long as caches keep responses."),
	}
}
