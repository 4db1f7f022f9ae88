package accounts

import (
	"context"
	"fmt"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"

	"pnyx/governance"
	"pnyx/governance/rules"
	"pnyx/warehouse"
	"pnyx/warehouse/feed"
)

// MessageState is what became of a message to an endpoint.
type MessageState string

// The states of a message.
const (
	MessageWaiting   MessageState = "waiting"
	MessageDelivered MessageState = "delivered"
	// MessageExpired was queued for too long or beyond the deadline of its signal, or is too large.
	MessageExpired MessageState = "expired"
	// MessageDropped was in the queue when the endpoint was turned off.
	MessageDropped MessageState = "dropped"
	// MessageWithdrawn left the feed before it was delivered.
	MessageWithdrawn MessageState = "withdrawn"
	// MessageBefore was in the feed when the endpoint was added.
	MessageBefore MessageState = "before"
)

const (
	// MaxMessageAge is how long ago something may have happened to be sent. Deliveries are
	// kept twice as long, so that none is queued again.
	MaxMessageAge = 30 * 24 * time.Hour
	// maxBodyAge bounds how far back the rows of messages are looked for. It is longer than deliveries are kept.
	maxBodyAge = 4 * MaxMessageAge
)

// Message is an event or a signal that endpoints may receive.
type Message struct {
	ID    string `ch:"message_id"`   // of the event or signal
	Type  string `ch:"message_type"` // event. or signal. with its type
	DAOID string
	// Subject is the key of its proposal, or else its DAO: messages about one are sent in order.
	Subject string
	// HappenedAt is the time of the event, or the detection of the signal.
	HappenedAt time.Time
	// Version is later than the version with which it was MessageWithdrawn; zero if it was not.
	Version uint64
}

// MessageQuery selects messages. They come in order of time, then id.
type MessageQuery struct {
	// After, exclusive, and Through, inclusive, bound when a message was written or became visible, in microseconds.
	After, Through int64
	// Since is the earliest time of a message.
	Since time.Time
	// UnqueuedFor leaves out what this endpoint has in its queue, in whatever state but
	// MessageWithdrawn; empty for nothing.
	UnqueuedFor string
	ID          string // empty for all
	// Last is the last message of the page before; its zero value begins.
	Last  Message
	Limit uint64
}

// Messages returns the messages of the feed that q selects.
func (a Accounts) Messages(ctx context.Context, q MessageQuery) ([]Message, error) {
	lastAt := int64(-1)
	if q.Last.ID != "" {
		lastAt = q.Last.HappenedAt.UnixMilli()
	}
	return warehouse.Find[Message](ctx, a.w, "read messages of the feed", sqlText("webhook_delivery_messages"),
		clickhouse.Named("after", q.After), clickhouse.Named("through", q.Through),
		clickhouse.Named("since", unixMilliseconds(q.Since)), clickhouse.Named("endpoint", q.UnqueuedFor),
		clickhouse.Named("message", q.ID), clickhouse.Named("last_at", lastAt), clickhouse.Named("last_id", q.Last.ID),
		clickhouse.Named("limit", q.Limit))
}

// Delivery is a message to an endpoint, and what became of it.
type Delivery struct {
	EndpointID, MessageID string
	MessageType           string
	// Subject and HappenedAt are the message's.
	Subject    string
	HappenedAt time.Time
	State      MessageState
	Attempts   uint32 // that failed
	QueuedAt   time.Time
	DueAt      time.Time // of the next attempt
	// Version orders the states, the latest counts: 0 as it is queued, that of NextDelivery as it
	// is queued again, and one more with each outcome.
	Version uint64
}

// WriteDeliveries writes states of deliveries. Writing a state again changes nothing.
func (a Accounts) WriteDeliveries(ctx context.Context, deliveries []Delivery) error {
	rows := warehouse.Values(deliveries, func(d Delivery) []any {
		return []any{
			d.EndpointID, d.MessageID, d.MessageType, d.Subject, d.HappenedAt, string(d.State),
			d.Attempts, d.QueuedAt, d.DueAt, d.Version,
		}
	})
	return warehouse.InsertRows(ctx, a.w, sqlText("webhook_delivery_insert"),
		fmt.Sprintf("write %d deliveries", len(deliveries)), rows)
}

// NextDelivery returns the version with which messages of an endpoint are queued again.
func (a Accounts) NextDelivery(ctx context.Context, endpointID string) (version uint64, err error) {
	return a.nextVersion(ctx, "webhook_deliveries", endpointID)
}

// DueDeliveries returns the first messages, in order, that each endpoint should get: up to limit for each.
func (a Accounts) DueDeliveries(ctx context.Context, endpointIDs []string, now time.Time, limit uint64) ([]Delivery, error) {
	return warehouse.Find[Delivery](ctx, a.w, fmt.Sprintf("read the queues of %d webhooks", len(endpointIDs)),
		sqlText("webhook_delivery_due"), clickhouse.Named("endpoints", endpointIDs),
		clickhouse.Named("now", now.UnixMilli()), clickhouse.Named("limit", limit))
}

// Queue is what waits for an endpoint.
type Queue struct {
	Messages uint64
	OldestAt time.Time // when the oldest was queued
	DueAt    time.Time // of the next attempt
}

// WebhookQueues returns the queues that are not empty, by endpoint.
func (a Accounts) WebhookQueues(ctx context.Context) (map[string]Queue, error) {
	return warehouse.FindBy[string, Queue](ctx, a.w, "read the queues of webhooks", sqlText("webhook_delivery_waiting"))
}

// DropDeliveries takes what waits for an endpoint out of its queue.
func (a Accounts) DropDeliveries(ctx context.Context, endpointID string) error {
	if err := a.w.Conn.Exec(ctx, sqlText("webhook_delivery_drop"), clickhouse.Named("endpoint", endpointID)); err != nil {
		return fmt.Errorf("empty the queue of webhook %s: %w", endpointID, err)
	}
	return nil
}

// MessageRows returns the rows of messages, as the lists of events and signals have them
// but for the names of DAOs. What left the feed is missing.
func (a Accounts) MessageRows(ctx context.Context, ids []string) (events []governance.EventRow, signals []governance.SignalRow, err error) {
	since := clickhouse.Named("since", time.Now().Add(-maxBodyAge).UnixMilli())
	events, err = warehouse.Find[governance.EventRow](ctx, a.w, "read events to send",
		feed.EventRows+sqlText("webhook_delivery_events"), since, clickhouse.Named("ids", ids))
	if err != nil {
		return nil, nil, err
	}
	signals, err = warehouse.Find[governance.SignalRow](ctx, a.w, "read signals to send", sqlText("webhook_delivery_signals"),
		since, clickhouse.Named("ids", ids))
	for i := range signals {
		signals[i].Priority = rules.PriorityOf(signals[i].Priority.Score)
	}
	return events, signals, err
}
