// Package purge tells caches in front of the API which answers a publication has
// outdated, by the tags that answers carry. Nobody waits for it, and a purge that
// is lost costs no more than the time for which caches keep answers anyway.
package purge

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

const (
	// patience bounds one request to a cache.
	patience = 5 * time.Second
	// firstRetry doubles with each failure up to longestRetry, which also bounds what a
	// cache may ask for in Retry-After.
	firstRetry, longestRetry = 500 * time.Millisecond, 15 * time.Second
	// goodbye bounds the last purge of a process that ends.
	goodbye = 2 * time.Second
)

// Options says which caches to purge, and how they are spoken to.
type Options struct {
	Kind Kind
	// URLs are the addresses that purges are sent to, each a cache of its own.
	URLs []string
	// Token is what the caches want to see; empty for nothing.
	Token string
	// Everything is the tag that every answer carries, for when there are too many.
	Everything string
	// Settle is how long after a publication API nodes may still answer as before it,
	// and a cache may so be filled with what it outdated: what is purged is purged once
	// more after that.
	Settle time.Duration
	// Keeps is how long caches keep answers. A purge that was not possible for as long
	// is given up: there is nothing left to purge.
	Keeps   time.Duration
	Logger  *slog.Logger
	Metrics prometheus.Registerer
}

// Purger purges a set of caches. It is safe for concurrent use.
type Purger struct {
	client  *http.Client
	targets []*target
}

// New returns a purger that does nothing until Run.
func New(o Options) *Purger {
	// A cache that leads elsewhere would be shown the token there.
	client := &http.Client{
		Transport:     &http.Transport{Proxy: http.ProxyFromEnvironment, IdleConnTimeout: time.Minute},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Timeout:       patience,
	}
	m := newMetrics(o.Metrics)
	p := &Purger{client: client}
	for i, url := range o.URLs {
		p.targets = append(p.targets, &target{
			number: i + 1, url: url, kind: o.Kind, token: o.Token, client: client, logger: o.Logger, metrics: m,
			settle: o.Settle, queue: newQueue(o.Everything, o.Settle, o.Keeps),
		})
	}
	return p
}

// Purge notes that answers with these tags are outdated, and returns at once.
func (p *Purger) Purge(tags []string) {
	now := time.Now()
	for _, t := range p.targets {
		t.queue.add(tags, now)
	}
}

// Run sends purges until ctx ends, then once more what is waiting.
func (p *Purger) Run(ctx context.Context) {
	var running sync.WaitGroup
	for _, t := range p.targets {
		running.Go(func() { t.run(ctx) })
	}
	running.Wait()
	p.client.CloseIdleConnections()
}

// target is one cache. Each has a queue of its own: one that hangs holds up no other.
type target struct {
	number  int
	url     string
	kind    Kind
	token   string
	settle  time.Duration
	client  *http.Client
	queue   *queue
	logger  *slog.Logger
	metrics metrics
}

func (t *target) run(ctx context.Context) {
	retry := firstRetry
	for t.wait(ctx) {
		pause := t.settle
		if err := t.round(ctx); err != nil && ctx.Err() == nil {
			pause = jittered(retry)
			if asked, is := errors.AsType[*busyError](err); is {
				pause = max(pause, min(asked.retryAfter, longestRetry))
			}
			retry = min(2*retry, longestRetry)
			t.logger.LogAttrs(ctx, slog.LevelWarn, "cache could not be purged, trying again",
				slog.Int("cache", t.number), slog.Duration("in", pause), slog.Any("error", err))
		} else {
			retry = firstRetry
		}
		rest(ctx, pause)
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), goodbye)
	defer cancel()
	_ = t.round(last) // what is lost ends by itself
}

// wait returns when there is something to purge, or false when ctx ends.
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

// round purges everything that is waiting. However many publications that is, it
// takes one request, or a few where there are many tags.
func (t *target) round(ctx context.Context) error {
	began := time.Now()
	tags, givenUp := t.queue.take(began)
	t.metrics.givenUp.Add(float64(givenUp))
	for _, some := range t.kind.portions(tags) {
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

func (t *target) send(ctx context.Context, tags []string) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	request, err := t.kind.request(ctx, t.url, t.token, tags)
	if err != nil {
		return fmt.Errorf("ask for a purge: %w", err)
	}
	response, err := t.client.Do(request)
	if err != nil {
		return fmt.Errorf("ask for a purge: %w", withoutURL(err))
	}
	defer response.Body.Close()
	return t.kind.verdict(response)
}

// jittered spreads retries of several workers over half the pause.
func jittered(pause time.Duration) time.Duration {
	return pause/2 + rand.N(pause/2+1) //nolint:gosec // no secret
}

// rest returns after a while, or when ctx ends.
func rest(ctx context.Context, while time.Duration) {
	timer := time.NewTimer(while)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

type metrics struct {
	requests      *prometheus.CounterVec
	tags, givenUp prometheus.Counter
}

func newMetrics(registerer prometheus.Registerer) metrics {
	m := metrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "pnyx_purge_requests_total", Help: "Requests to purge caches, by outcome: done, busy (429) or failed.",
		}, []string{"outcome"}),
		tags: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "pnyx_purge_tags_total", Help: "Tags that were purged, once for each cache and round.",
		}),
		givenUp: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "pnyx_purge_given_up_total", Help: "Tags that could not be purged for as long as caches keep answers.",
		}),
	}
	registerer.MustRegister(m.requests, m.tags, m.givenUp)
	return m
}
