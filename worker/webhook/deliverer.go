// Package webhook delivers events and signals to the receivers of partners, signed as in Standard Webhooks
// (https://www.standardwebhooks.com).
//
// The queue is in the warehouse: an endpoint should get what the feed shows and its deliveries lack. Queueing again
// changes nothing, and an outcome is recorded after the answer, so that a worker that dies loses no message: the
// next leader queues what is missing, and sends again what it does not know to be delivered.
//
// Each endpoint has a goroutine, which sends one message at a time: none waits for another. Queues are read, and
// outcomes are written, many at a time. Messages about one proposal, or one DAO, are sent in order; while one of
// them waits for its next attempt, those after it wait too.
package webhook

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"pnyx/access"
	"pnyx/backoff"
	"pnyx/cache"
	"pnyx/telemetry"
	"pnyx/warehouse"
	"pnyx/warehouse/accounts"
)

const (
	// MaxEndpoints bounds the number of endpoints, each of which has a goroutine.
	MaxEndpoints    = 1000
	refreshInterval = 5 * time.Second
	sweepInterval   = time.Hour // between two searches for what an endpoint's queue lacks
	// overlap is how far before the first write of its term a leader looks for messages: some may be written late.
	overlap = time.Hour
	// batchSize bounds the messages that an endpoint has in memory.
	batchSize = 100
)

// Options configures a Deliverer.
type Options struct {
	Warehouse *warehouse.Warehouse
	Store     *cache.Store
	Sender    *Sender
	// V2LaunchedAt is the launch of v2, with which tokens of v1 get its scopes; zero for none.
	V2LaunchedAt time.Time
	// Now is the clock that attempts go by.
	Now func() time.Time
	// Leads is false once another worker may deliver; nil means that none does.
	Leads func() bool
	// Logger receives errors, and which endpoints are turned off.
	Logger  *slog.Logger
	Metrics prometheus.Registerer
}

// Deliverer delivers messages while its worker leads.
type Deliverer struct {
	Options
	// written is the revision up to which the feed is written, of which woken has room for one signal.
	written atomic.Int64
	woken   chan struct{}

	deliveries *prometheus.CounterVec
	endpoints  *prometheus.GaugeVec
	oldest     prometheus.Gauge
	errors     prometheus.Counter
}

// New returns a Deliverer that does nothing until Run.
func New(o Options) *Deliverer {
	d := &Deliverer{
		Options: o, woken: make(chan struct{}, 1),
		deliveries: telemetry.Counters(o.Metrics, "pnyx_webhook_messages_total",
			"Messages of webhooks by outcome: delivered, failed (an attempt, which is repeated), expired, dropped, withdrawn.", "outcome"),
		endpoints: telemetry.Gauges(o.Metrics, "pnyx_webhook_endpoints",
			"Endpoints of webhooks by state: on, failing, off. Of the leading worker.", "state"),
		oldest: telemetry.Gauge(o.Metrics, "pnyx_webhook_oldest_message_seconds",
			"Age of the oldest message of a webhook that is not delivered; 0 for none. Of the leading worker."),
		errors: telemetry.Counter(o.Metrics, "pnyx_webhook_errors_total", "Reads and writes of the queues of webhooks that failed, and are repeated."),
	}
	for _, outcome := range []string{"delivered", "failed", "expired", "dropped", "withdrawn"} {
		d.deliveries.WithLabelValues(outcome)
	}
	d.forgetStates()
	return d
}

func (d *Deliverer) forgetStates() {
	for _, state := range []string{"on", "failing", "off"} {
		d.endpoints.WithLabelValues(state).Set(0)
	}
	d.oldest.Set(0)
}

// Wake tells that the feed is written, and visible, up to a revision. It does not block.
func (d *Deliverer) Wake(revision uint64) {
	d.written.Store(int64(revision)) //nolint:gosec // microseconds since 1970
	backoff.Wake(d.woken)
}

type term struct {
	*Deliverer
	queued    int64 // the revision up to which new messages are queued
	receivers map[string]*receiver
	pulse     warehouse.Pulse
	running   sync.WaitGroup
	// reads are of endpoints that wait for what is due, and outcomes wait to be recorded.
	reads    chan dueRead
	outcomes chan outcome
}

// Run delivers until ctx ends. Errors are logged, and what failed is repeated.
func (d *Deliverer) Run(ctx context.Context) {
	t := d.newTerm()
	recording, stop := context.WithCancel(context.WithoutCancel(ctx))
	var recorded sync.WaitGroup
	recorded.Go(func() { t.runRecords(recording) })
	t.running.Go(func() { t.runReads(ctx) })
	ticker := time.NewTicker(refreshInterval)
	defer ticker.Stop()
	for refresh := true; ctx.Err() == nil; {
		err := t.queueNew(ctx)
		if err == nil && refresh {
			err = t.refresh(ctx)
		}
		if err != nil && ctx.Err() == nil {
			d.failed(ctx, "webhooks not updated, retrying", err)
		}
		select {
		case <-ctx.Done():
		case <-d.woken:
			refresh = false
		case <-ticker.C:
			refresh = true
		}
	}
	t.running.Wait()
	stop()
	recorded.Wait()
	d.forgetStates()
}

func (d *Deliverer) newTerm() *term {
	return &term{
		Deliverer: d, receivers: map[string]*receiver{},
		reads: make(chan dueRead, MaxEndpoints), outcomes: make(chan outcome, maxRecorded),
	}
}

func (d *Deliverer) failed(ctx context.Context, what string, err error) {
	d.errors.Inc()
	d.Logger.LogAttrs(ctx, slog.LevelWarn, what, slog.Any("error", err)) //nolint:sloglint // one of three texts
}

// queueNew queues what became visible since the last call, for the endpoints that are known.
func (t *term) queueNew(ctx context.Context) error {
	through := t.written.Load()
	switch {
	case len(t.receivers) == 0:
		t.queued = 0 // those that come are searched for everything that they lack
		return nil
	case through <= t.queued:
		return nil
	case t.queued == 0:
		t.queued = through - overlap.Microseconds()
	}
	endpoints := make([]accounts.Webhook, 0, len(t.receivers))
	for _, r := range t.receivers {
		endpoints = append(endpoints, *r.endpoint.Load())
	}
	queued, err := queueFor(ctx, t.Warehouse, accounts.MessageQuery{
		After: t.queued, Through: through, Since: time.UnixMicro(through).Add(-accounts.MaxMessageAge),
	}, endpoints, waiting(t.Now()))
	for id := range queued {
		t.receivers[id].wake()
	}
	if err == nil {
		t.queued = through
	}
	return err
}

// refresh starts and ends goroutines of endpoints, turns off those whose token is not valid any more, and wakes
// those that have something due.
func (t *term) refresh(ctx context.Context) error {
	pulse, err := t.Warehouse.Pulse(ctx, warehouse.IdlePulseAge)
	if err != nil || len(t.receivers) == 0 && pulse.Quiet(t.pulse) {
		return err
	}
	endpoints, err := accounts.NewAccounts(t.Warehouse).Webhooks(ctx)
	if err != nil {
		return err
	}
	tokens, err := t.validTokens(ctx)
	if err != nil {
		return err
	}
	active := map[string]bool{}
	states := map[string]float64{"on": 0, "failing": 0, "off": 0}
	for _, e := range endpoints {
		if e.Active() && !tokens[e.TokenID] {
			if err := t.disable(ctx, e, "its token is revoked, has expired or lacks the scope "+string(access.V2Standard)); err != nil {
				return err
			}
			e.DisabledAt = e.EnabledAt
		}
		switch active[e.ID] = e.Active(); {
		case !active[e.ID]:
			states["off"]++
		case e.Failing():
			states["failing"]++
		default:
			states["on"]++
		}
	}
	for id, r := range t.receivers {
		if !active[id] || r.ended.Load() { // one that was turned off may be on again since
			r.stop()
			delete(t.receivers, id)
		}
	}
	for _, e := range endpoints {
		if active[e.ID] {
			if err := t.keep(ctx, e); err != nil {
				return err
			}
		}
	}
	for state, count := range states {
		t.endpoints.WithLabelValues(state).Set(count)
	}
	if err := t.checkQueues(ctx); err != nil {
		return err
	}
	t.pulse = pulse
	return nil
}

func (t *term) validTokens(ctx context.Context) (map[string]bool, error) {
	tokens, err := accounts.NewAccounts(t.Warehouse).Tokens(ctx)
	valid := make(map[string]bool, len(tokens))
	for _, token := range tokens {
		valid[token.ID] = CheckToken(token, t.V2LaunchedAt, t.Now()) == nil
	}
	return valid, err
}

// keep starts an endpoint's goroutine, or gives it what was changed. What its queue lacks is searched for at the
// beginning, and every sweepInterval.
func (t *term) keep(ctx context.Context, e accounts.Webhook) error {
	r, running := t.receivers[e.ID]
	if running {
		r.endpoint.Store(&e)
	}
	if !running || time.Since(r.swept) > sweepInterval {
		if err := t.sweep(ctx, e); err != nil {
			return err
		}
	}
	if running {
		r.swept = time.Now()
		return nil
	}
	if len(t.receivers) >= MaxEndpoints {
		t.Logger.LogAttrs(ctx, slog.LevelError, "too many webhooks, one is left out", slog.String("endpoint", e.ID))
		return nil
	}
	r = t.newReceiver(e)
	// What was started together is not searched for together again.
	r.swept = r.swept.Add(-rand.N(sweepInterval)) //nolint:gosec // no secret
	t.receivers[e.ID] = r
	ctx, r.stop = context.WithCancel(ctx)
	t.running.Go(func() { r.run(ctx) })
	return nil
}

func (t *term) sweep(ctx context.Context, e accounts.Webhook) error {
	return queueLacking(ctx, t.Warehouse, e, func(time.Time) accounts.Delivery { return waiting(t.Now()) })
}

// checkQueues wakes endpoints that have something due, and empties the queues of those that are off or removed.
func (t *term) checkQueues(ctx context.Context) error {
	queues, err := accounts.NewAccounts(t.Warehouse).WebhookQueues(ctx)
	if err != nil {
		return err
	}
	var oldest time.Duration
	now := t.Now()
	for id, queue := range queues {
		r, active := t.receivers[id]
		switch {
		case !active:
			if err := accounts.NewAccounts(t.Warehouse).DropDeliveries(ctx, id); err != nil {
				return err
			}
			t.deliveries.WithLabelValues(string(accounts.MessageDropped)).Add(float64(queue.Messages))
			continue
		case !queue.DueAt.After(now):
			r.wake()
		}
		oldest = max(oldest, now.Sub(queue.OldestAt))
	}
	t.oldest.Set(oldest.Seconds())
	return nil
}

// disable turns an endpoint off. The next refresh empties its queue.
func (d *Deliverer) disable(ctx context.Context, e accounts.Webhook, reason string) error {
	// Off is what was turned off at or after it was turned on, by whichever clock.
	e.DisabledAt, e.Reason, e.FailingSince = d.Now(), reason, time.Time{}
	if e.DisabledAt.Before(e.EnabledAt) {
		e.DisabledAt = e.EnabledAt
	}
	if err := accounts.NewAccounts(d.Warehouse).PutWebhookState(ctx, e); err != nil {
		return err
	}
	d.Logger.LogAttrs(ctx, slog.LevelError, "webhook turned off",
		slog.String("endpoint", e.ID), slog.String("token", e.TokenID), slog.String("reason", reason))
	return nil
}

// CheckToken returns an error unless a token may have endpoints at a time: it is valid, and opens events and
// signals. launchedAt is the launch of v2; zero for none.
func CheckToken(t accounts.Token, launchedAt, now time.Time) error {
	scopes := warehouse.Values(t.Scopes, func(scope string) access.Scope { return access.Scope(scope) })
	caller := access.Caller{Scopes: access.EffectiveScopes(scopes, t.CreatedAt, launchedAt, now)}
	switch {
	case t.RevokedAt != nil:
		return errors.New("the token is revoked")
	case t.ExpiresAt != nil && !now.Before(*t.ExpiresAt):
		return errors.New("the token has expired")
	case !caller.HasScope(access.V2Standard):
		return fmt.Errorf("the token lacks the scope %s", access.V2Standard)
	}
	return nil
}
