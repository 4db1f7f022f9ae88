package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"pnyx/access"
	"pnyx/governance/rules"
	"pnyx/warehouse"
	"pnyx/warehouse/accounts"
	"pnyx/worker/webhook"
)

const (
	// sickEndpoints is how many endpoints hang, and how many others fail.
	sickEndpoints = webhook.MaxEndpoints / 10
	// webhookEvents is how many events are sent to each endpoint in one measurement.
	webhookEvents = 10
)

// webhookRows measure the delivery of events to as many endpoints as there may be.
func webhookRows() []Row {
	return []Row{{
		ID: "webhooks", Unit: "ms", Ratio: AtMost(1.5), Rounds: 3, Quick: 1,
		Name: fmt.Sprintf("%d webhook endpoints, of which %d hang and %d fail: 99th percentile from the end of an import to the other receivers",
			webhook.MaxEndpoints, sickEndpoints, sickEndpoints),
		Baseline: "the same receivers while none hangs or fails",
		Prepare: func(ctx context.Context, e *Environment) Sides {
			h := e.webhooks(ctx)
			return Sides{
				Pnyx:     func(ctx context.Context) float64 { return h.deliver(ctx, "some hang or fail", true) },
				Baseline: func(ctx context.Context) float64 { return h.deliver(ctx, "all are well", false) },
			}
		},
	}}
}

// webhooks are endpoints at one receiver, and the worker that sends to them.
type webhooks struct {
	environment *Environment
	worker      *Process
	// url is the database, dir the folder of what is imported.
	url, dir string
	proposed int

	// sick is set while some endpoints hang or fail, and well is closed after that.
	sick atomic.Bool
	mu   sync.Mutex
	well chan struct{}
	// received are the times at which healthy endpoints got messages, by proposal.
	received map[string][]time.Time
}

// webhooks starts an engine, a Redis and a worker of their own, with all endpoints.
func (e *Environment) webhooks(ctx context.Context) *webhooks {
	h := &webhooks{environment: e, dir: filepath.Join(e.Dir, "webhooks"), well: make(chan struct{})}
	mustDo(errors.Join(os.RemoveAll(h.dir), os.MkdirAll(h.dir, 0o750)))
	instance := emptyEngine(ctx, e, filepath.Join(h.dir, "warehouse"))
	h.url = instance.URL(warehouse.DefaultDatabase)
	receiver := e.listen(h)
	for _, line := range []string{
		`{"record":"dao","version":1,"daoId":"bench","name":"Bench","sources":[{"provider":"snapshot","id":"bench.eth"}]}`,
		`{"id":"bench.eth","name":"Bench","network":"1","symbol":"B"}`,
	} {
		h.importLines(ctx, line)
	}
	h.addEndpoints(ctx, receiver)
	h.startWorker(ctx)
	return h
}

// ServeHTTP implements http.Handler: the path is the number of the endpoint.
func (h *webhooks) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	now := time.Now()
	text, err := io.ReadAll(r.Body)
	number, of := strconv.Atoi(strings.TrimPrefix(r.URL.Path, "/"))
	var message struct{ Data struct{ Title string } }
	if err := errors.Join(err, of, json.Unmarshal(text, &message)); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	h.mu.Lock()
	well := h.well
	if number >= 2*sickEndpoints && h.received != nil {
		h.received[message.Data.Title] = append(h.received[message.Data.Title], now)
	}
	h.mu.Unlock()
	switch {
	case number < sickEndpoints && h.sick.Load():
		select {
		case <-well:
		case <-r.Context().Done():
		}
		w.WriteHeader(http.StatusServiceUnavailable)
	case number < 2*sickEndpoints && h.sick.Load():
		w.WriteHeader(http.StatusInternalServerError)
	default:
		w.WriteHeader(http.StatusNoContent)
	}
}

// addEndpoints adds as many endpoints as there may be. Each gets one message a proposal.
func (h *webhooks) addEndpoints(ctx context.Context, receiver string) {
	w := must(warehouse.Open(ctx, warehouse.Options{URL: h.url}))
	defer w.Close()
	now := time.Now()
	mustDo(accounts.NewAccounts(w).PutToken(ctx, accounts.Token{ID: "bench", Name: "bench", Plan: "developer", Scopes: []string{string(access.V2Standard)}, CreatedAt: now}))
	for number := range webhook.MaxEndpoints {
		mustDo(accounts.NewAccounts(w).PutWebhook(ctx, accounts.Webhook{
			ID: webhook.NewID(), TokenID: "bench", URL: fmt.Sprintf("%s/%d", receiver, number), Types: []string{"event." + rules.VotingStarted}, Secret: webhook.NewSecret(),
			CreatedAt: now, EnabledAt: now,
		}, false))
	}
}

// startWorker starts a worker, and waits until it knows all endpoints.
func (h *webhooks) startWorker(ctx context.Context) {
	e := h.environment
	address, admin := freeAddresses()
	e.Undo(e.launch(redisAt(address)).stop)
	known := fmt.Sprintf("pnyx_webhook_endpoints{state=\"on\"} %d\n", webhook.MaxEndpoints)
	h.worker = e.Start(ctx, Program{Name: "pnyx worker", Args: []string{e.Pnyx, "worker"}, Nice: e.Niceness, Env: append(e.common(),
		"CLICKHOUSE_URL="+h.url, "REDIS_URL=redis://"+address, "PNYX_ADMIN_LISTEN="+admin, "PNYX_WEBHOOK_RECEIVERS=private")},
		func() error { return answerHas(ctx, "http://"+admin+"/metrics", known) })
}

func (h *webhooks) importLines(ctx context.Context, lines ...string) {
	importText(ctx, h.environment, strings.Join(lines, "\n")+"\n", append(h.environment.common(), "CLICKHOUSE_URL="+h.url), 0)
}

// deliver imports proposals and returns the 99th percentile of the milliseconds to healthy receivers.
func (h *webhooks) deliver(ctx context.Context, name string, sick bool) float64 {
	h.worker.resetPeakMemory()
	h.mu.Lock()
	h.received = map[string][]time.Time{}
	h.mu.Unlock()
	h.sick.Store(sick)
	defer h.heal()
	now := time.Now().Unix()
	var lines, titles []string
	for range webhookEvents {
		h.proposed++
		title := fmt.Sprint("proposal ", h.proposed)
		titles = append(titles, title)
		lines = append(lines, fmt.Sprintf(`{"id":"0x%d","space":{"id":"bench.eth"},"author":"0xA","type":"single-choice","title":%q,"choices":["A","B"],`+
			`"created":%d,"start":%d,"end":%d,"state":"active"}`, h.proposed, title, now-60, now-30, now+86_400))
	}
	h.importLines(ctx, lines...)
	imported := time.Now()
	const healthy = webhook.MaxEndpoints - 2*sickEndpoints
	mustDo(h.worker.until(ctx, func() error {
		h.mu.Lock()
		defer h.mu.Unlock()
		for _, title := range titles {
			if got := len(h.received[title]); got < healthy {
				return fmt.Errorf("%d of %d receivers have the event of %s", got, healthy, title)
			}
		}
		return nil
	}))
	memory := h.worker.peakMemory()
	h.mu.Lock()
	defer h.mu.Unlock()
	var delays []float64
	first, last := time.Now(), imported
	for _, title := range titles {
		for _, at := range h.received[title] {
			delays = append(delays, float64(at.Sub(imported).Microseconds())/1e3)
			if at.Before(first) {
				first = at
			}
			if at.After(last) {
				last = at
			}
		}
	}
	slices.Sort(delays)
	median, high := delays[len(delays)/2], delays[len(delays)*99/100]
	fmt.Fprintf(h.environment.Log, "  %s: %d messages, %.0f a second, median %.0f ms, 99th percentile %.0f ms, worker %.0f MB\n",
		name, len(delays), float64(len(delays))/last.Sub(first).Seconds(), median, high, memory/1e6)
	return high
}

func (h *webhooks) heal() {
	h.sick.Store(false)
	h.mu.Lock()
	defer h.mu.Unlock()
	close(h.well)
	h.well, h.received = make(chan struct{}), nil
}
