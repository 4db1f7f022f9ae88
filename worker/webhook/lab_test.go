package webhook

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"pnyx/access"
	"pnyx/cache"
	"pnyx/governance"
	"pnyx/governance/rules"
	"pnyx/test/env"
	"pnyx/warehouse"
	"pnyx/warehouse/accounts"
	"pnyx/warehouse/feed"
	"pnyx/warehouse/record"
)

func TestMain(m *testing.M) { env.Main(m) }

// lab is a warehouse with a feed that tests write, and a Deliverer with a clock that they set.
type lab struct {
	t         *testing.T
	warehouse *warehouse.Warehouse
	deliverer *Deliverer

	mu      sync.Mutex
	elapsed time.Duration
	items   byte
}

func newLab(t *testing.T) *lab {
	t.Helper()
	if testing.Short() {
		t.Skip("needs the engine, which -short leaves out")
	}
	store := env.Store(t, env.EmbeddedRedis(t))
	l := &lab{t: t, warehouse: env.Warehouse(t)}
	writer := store.NewWriter(1)
	writer.SetDAO(t.Context(), cache.View{Revision: 1}, governance.DAOListItem{DAOID: "dao", Name: "The <DAO>"})
	env.MustDo(t, errors.Join(writer.Flush(t.Context()),
		accounts.NewAccounts(l.warehouse).PutToken(t.Context(), accounts.Token{
			ID: "token", Name: "A", Plan: "developer", Scopes: []string{string(access.V2Standard)}, CreatedAt: time.Now(),
		})))
	l.deliverer = l.newDeliverer(store)
	return l
}

func (l *lab) newDeliverer(store *cache.Store) *Deliverer {
	return New(Options{
		Warehouse: l.warehouse, Store: store, Sender: NewSender(true), Now: l.now,
		Logger: slog.New(slog.DiscardHandler), Metrics: prometheus.NewRegistry(),
	})
}

func (l *lab) now() time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	return time.Now().Add(l.elapsed)
}

func (l *lab) pass(by time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.elapsed += by
}

func (l *lab) add(url string, types ...string) accounts.Webhook {
	l.t.Helper()
	if len(types) == 0 {
		types = []string{"*"}
	}
	e := accounts.Webhook{ID: NewID(), TokenID: "token", URL: url, Types: types, Secret: NewSecret(), CreatedAt: time.Now()}
	l.put(e)
	return e
}

func (l *lab) put(e accounts.Webhook) {
	l.t.Helper()
	err := PassOver(l.t.Context(), l.warehouse, e)
	e.EnabledAt = time.Now()
	env.MustDo(l.t, errors.Join(err, accounts.NewAccounts(l.warehouse).PutWebhook(l.t.Context(), e, false)))
}

// event writes an event about a proposal, that happened some minutes ago, and returns its id.
func (l *lab) event(proposal, eventType string, minutesAgo int) string {
	l.t.Helper()
	at := governance.TimestampOf(time.Now().Add(-time.Duration(minutesAgo) * time.Minute))
	l.items++
	row := feed.FeedEvent{Item: record.RefHash{l.items}, EventRow: governance.EventRow{
		Event: governance.Event{
			EventID: governance.EventID("dao", eventType, proposal), EventType: governance.EventType(eventType), EventTimeMs: at,
			EventTimeConfidence: governance.ExactTime, DAOID: "dao", ItemType: governance.ProposalItem,
			ProposalKey: new(governance.ProposalKey(proposal)), Title: new("A & B"), ImportanceScore: 50,
		},
		DiscoveredAt: at,
	}}
	env.Must(feed.NewFeed(l.warehouse).ReplaceEvents(l.t.Context(), l.revision(), nil, []feed.FeedEvent{row}))(l.t)
	return row.EventID
}

func (l *lab) signal(proposal string, minutesAgo int) string {
	l.t.Helper()
	return l.signalUntil(proposal, minutesAgo, nil)
}

func (l *lab) signalUntil(proposal string, minutesAgo int, deadline *time.Time) string {
	l.t.Helper()
	l.items++
	signalType := rules.SignalTypeNames()[0]
	row := feed.FeedSignal{Item: record.RefHash{l.items}, SignalRow: governance.SignalRow{
		Signal: governance.Signal{
			SignalID: governance.SignalID("dao", signalType, proposal), SignalType: governance.SignalType(signalType), DAOID: "dao",
			Priority: rules.PriorityOf(80), Title: "T", Summary: "S", Severity: "info", Actionability: "vote",
			ProposalKey: new(governance.ProposalKey(proposal)), Evidence: json.RawMessage(`{"share":0.10}`),
		},
		DetectedAt: governance.TimestampOf(time.Now().Add(-time.Duration(minutesAgo) * time.Minute)),
	}}
	if deadline != nil {
		row.DeadlineAtMs = new(governance.TimestampOf(*deadline))
	}
	env.Must(feed.NewFeed(l.warehouse).ReplaceSignals(l.t.Context(), l.revision(), nil, []feed.FeedSignal{row}))(l.t)
	return row.SignalID
}

func (l *lab) revision() uint64 {
	l.t.Helper()
	now := env.Must(l.warehouse.Now(l.t.Context()))(l.t)
	return uint64(now.UnixMicro())
}

// startTerm begins a term of another leader, which reads queues and records what a test delivers.
func (l *lab) startTerm() *term {
	l.t.Helper()
	term := l.newDeliverer(l.deliverer.Store).newTerm()
	l.run(term.runRecords)
	l.run(term.runReads)
	return term
}

func (l *lab) run(part func(context.Context)) (stop func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(l.t.Context()))
	var running sync.WaitGroup
	running.Go(func() { part(ctx) })
	stop = func() {
		cancel()
		running.Wait()
	}
	l.t.Cleanup(stop)
	return stop
}

func (l *lab) stored(id string) accounts.Webhook {
	l.t.Helper()
	endpoints := env.Must(accounts.NewAccounts(l.warehouse).Webhooks(l.t.Context()))(l.t)
	for _, e := range endpoints {
		if e.ID == id {
			return e
		}
	}
	l.t.Fatalf("no endpoint %s", id)
	return accounts.Webhook{}
}

// deliver sends all that is due to an endpoint as a leader does that begins now.
func (l *lab) deliver(term *term, id string) *receiver {
	l.t.Helper()
	r := term.newReceiver(l.stored(id))
	env.MustDo(l.t, term.sweep(l.t.Context(), *r.endpoint.Load()))
	l.drain(r)
	return r
}

func (l *lab) drain(r *receiver) {
	l.t.Helper()
	for {
		sent, err := r.deliver(l.t.Context())
		if err != nil && !errors.Is(err, errTurnedOff) {
			l.t.Fatal(err)
		}
		if sent == 0 || err != nil {
			return
		}
	}
}

func (l *lab) waiting(id string) uint64 {
	l.t.Helper()
	queues := env.Must(accounts.NewAccounts(l.warehouse).WebhookQueues(l.t.Context()))(l.t)
	return queues[id].Messages
}

type inbox struct {
	*httptest.Server

	mu       sync.Mutex
	received []received
	// answer answers a request once it is noted; nil for 204.
	answer func(w http.ResponseWriter, r *http.Request, earlier int)
}

type received struct {
	ID, Timestamp, Signature string
	Body                     []byte
}

func newInbox(t *testing.T, answer func(w http.ResponseWriter, r *http.Request, earlier int)) *inbox {
	t.Helper()
	in := &inbox{answer: answer}
	in.Server = httptest.NewServer(in)
	t.Cleanup(in.Close)
	return in
}

func (in *inbox) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	in.mu.Lock()
	earlier := len(in.received)
	in.received = append(in.received, received{
		r.Header.Get("webhook-id"), r.Header.Get("webhook-timestamp"), r.Header.Get("webhook-signature"), body,
	})
	answer := in.answer
	in.mu.Unlock()
	if answer == nil {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	answer(w, r, earlier)
}

func (in *inbox) answerWith(answer func(w http.ResponseWriter, r *http.Request, earlier int)) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.answer = answer
}

func (in *inbox) messages() []received {
	in.mu.Lock()
	defer in.mu.Unlock()
	return append([]received{}, in.received...)
}

func (in *inbox) ids() []string {
	ids := []string{}
	for _, m := range in.messages() {
		ids = append(ids, m.ID)
	}
	return ids
}

func (in *inbox) await(t *testing.T, count int) {
	t.Helper()
	env.Until(t, func() error {
		if got := len(in.messages()); got < count {
			return fmt.Errorf("got %d messages, want %d", got, count)
		}
		return nil
	})
}
