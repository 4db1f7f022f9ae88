package webhook

import (
	"context"
	"crypto/rand"
	"fmt"
	"maps"
	"slices"
	"time"

	"pnyx/backoff"
	"pnyx/governance"
	"pnyx/warehouse"
	"pnyx/warehouse/accounts"
	"pnyx/worker/fill"
)

// maxRead and maxBodies bound the endpoints and the messages that are read together.
const (
	maxRead   = 100
	maxBodies = 1000
)

type dueMessage struct {
	accounts.Delivery
	// messageBody has no text for what left the feed.
	messageBody
}

type dueRead struct {
	endpointID string
	// answer has room for one.
	answer chan<- dueAnswer
}

type dueAnswer struct {
	messages []dueMessage
	err      error
}

func (t *term) read(ctx context.Context, endpointID string) ([]dueMessage, error) {
	answer := make(chan dueAnswer, 1)
	select {
	case t.reads <- dueRead{endpointID, answer}:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	select {
	case due := <-answer:
		return due.messages, due.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// runReads answers until ctx ends. Endpoints that ask while a statement runs are read together by the next:
// planning it costs more than its rows, and most messages are for many endpoints.
func (t *term) runReads(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case first := <-t.reads:
			t.answer(ctx, take(t.reads, first, maxRead))
		}
	}
}

func (t *term) answer(ctx context.Context, reads []dueRead) {
	due, err := t.due(ctx, warehouse.Values(reads, func(read dueRead) string { return read.endpointID }))
	for _, read := range reads {
		read.answer <- dueAnswer{due[read.endpointID], err}
	}
}

func (t *term) due(ctx context.Context, endpointIDs []string) (map[string][]dueMessage, error) {
	deliveries, err := accounts.NewAccounts(t.Warehouse).DueDeliveries(ctx, endpointIDs, t.Now(), batchSize)
	if err != nil {
		return nil, err
	}
	ids := warehouse.Values(deliveries, func(d accounts.Delivery) string { return d.MessageID })
	slices.Sort(ids)
	bodies := map[string]messageBody{}
	for some := range slices.Chunk(slices.Compact(ids), maxBodies) {
		found, err := t.bodies(ctx, some)
		if err != nil {
			return nil, err
		}
		maps.Copy(bodies, found)
	}
	due := make(map[string][]dueMessage, len(endpointIDs))
	for _, d := range deliveries {
		due[d.EndpointID] = append(due[d.EndpointID], dueMessage{d, bodies[d.MessageID]})
	}
	return due, nil
}

const (
	recordInterval = 100 * time.Millisecond
	// maxRecorded bounds the outcomes that are written together.
	maxRecorded       = 5000
	lastRecordTimeout = 2 * time.Second
)

type outcome struct {
	delivery accounts.Delivery
	// attempt is nil where nothing was sent.
	attempt *accounts.WebhookAttempt
	// written is closed once the outcome is written.
	written chan struct{}
}

// record queues an outcome unless ctx ends, and returns a channel that is closed once it is written.
func (t *term) record(ctx context.Context, o outcome) <-chan struct{} {
	o.written = make(chan struct{})
	select {
	case t.outcomes <- o:
	case <-ctx.Done():
	}
	return o.written
}

// runRecords writes outcomes of all endpoints until ctx ends, which must be after the last call of record, and then
// what is queued: a warehouse takes few large inserts better than many small ones.
func (t *term) runRecords(ctx context.Context) {
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case first := <-t.outcomes:
			backoff.Wait(ctx, recordInterval)
			t.write(ctx, take(t.outcomes, first, maxRecorded))
		}
	}
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), lastRecordTimeout)
	defer stop()
	for {
		select {
		case first := <-t.outcomes:
			t.write(ctx, take(t.outcomes, first, maxRecorded))
		default:
			return
		}
	}
}

func take[T any](queue <-chan T, first T, most int) []T {
	taken := []T{first}
	for len(taken) < most {
		select {
		case next := <-queue:
			taken = append(taken, next)
		default:
			return taken
		}
	}
	return taken
}

// write writes outcomes, and repeats it until that succeeds or ctx ends.
func (t *term) write(ctx context.Context, outcomes []outcome) {
	deliveries := make([]accounts.Delivery, len(outcomes))
	var attempts []accounts.WebhookAttempt
	for i, o := range outcomes {
		deliveries[i] = o.delivery
		if o.attempt != nil {
			attempts = append(attempts, *o.attempt)
		}
	}
	for {
		err := accounts.NewAccounts(t.Warehouse).WriteDeliveries(ctx, deliveries)
		if err == nil {
			break
		}
		if ctx.Err() != nil {
			return
		}
		t.failed(ctx, "outcomes of webhooks not written, retrying", err)
		backoff.Wait(ctx, backoff.Jitter(backoff.Max))
	}
	// The log may lack what failed here: the queue does not go by it.
	if err := accounts.NewAccounts(t.Warehouse).WriteWebhookAttempts(ctx, attempts); err != nil && ctx.Err() == nil {
		t.failed(ctx, "attempts of webhooks not logged", err)
	}
	for _, o := range outcomes {
		name := string(o.delivery.State)
		if o.delivery.State == accounts.MessageWaiting {
			name = "failed"
		}
		t.deliveries.WithLabelValues(name).Inc()
		close(o.written)
	}
}

// TestType is the type of the message that `pnyx webhook test` sends.
const TestType = "pnyx.test"

type payload struct {
	// Type is event. or signal. with its type.
	Type string `json:"type"`
	// Timestamp is the time of the event, or the detection of the signal.
	Timestamp governance.Timestamp `json:"timestamp"`
	// Data is the row of /v2/events or /v2/signals.
	Data any `json:"data"`
}

func (p payload) encode() ([]byte, error) {
	text, err := governance.JSON(p)
	if err != nil {
		return nil, fmt.Errorf("encode a message: %w", err)
	}
	return text, nil
}

type messageBody struct {
	text []byte
	// deadline is when acting on it ends, in which case it is not worth sending; nil for never.
	deadline *governance.Timestamp
}

// bodies returns the bodies of messages as they are now, by id. What left the feed has none.
func (d *Deliverer) bodies(ctx context.Context, ids []string) (map[string]messageBody, error) {
	events, signals, err := accounts.NewAccounts(d.Warehouse).MessageRows(ctx, ids)
	if err != nil {
		return nil, err
	}
	bodies, names := make(map[string]messageBody, len(ids)), fill.NewDAONames(d.Store)
	for _, row := range events {
		if row.DAOName, err = names.Of(ctx, row.DAOID); err != nil {
			return nil, err
		}
		text, err := payload{"event." + string(row.EventType), row.EventTimeMs, row}.encode()
		if err != nil {
			return nil, err
		}
		bodies[row.EventID] = messageBody{text: text}
	}
	if err := fill.NameSignals(ctx, d.Store, d.Warehouse, signals); err != nil {
		return nil, err
	}
	for _, row := range signals {
		text, err := payload{"signal." + string(row.SignalType), row.DetectedAt, row}.encode()
		if err != nil {
			return nil, err
		}
		bodies[row.SignalID] = messageBody{text, row.DeadlineAtMs}
	}
	return bodies, nil
}

// Test sends a message of TestType to an endpoint now, and returns how that went.
func (s *Sender) Test(ctx context.Context, e accounts.Webhook, now time.Time) (accounts.WebhookAttempt, error) {
	body, err := payload{TestType, governance.TimestampOf(now), map[string]string{"endpointId": e.ID}}.encode()
	if err != nil {
		return accounts.WebhookAttempt{}, err
	}
	attempt := s.send(ctx, e, message{"test_" + rand.Text(), TestType, body}, now)
	attempt.Attempt = 1
	return attempt.WebhookAttempt, nil
}
