package accounts

import (
	"context"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"

	"pnyx/warehouse"
)

// WebhookAttempt is one attempt to deliver a message.
type WebhookAttempt struct {
	EndpointID, MessageID string
	MessageType           string
	At                    time.Time // when it began
	Attempt               uint32    // counts the attempts for the message, from 1
	Status                uint16    // HTTP status of the answer; 0 for none
	DurationMS            uint32    `ch:"duration_ms"`
	Error                 string    // why it failed; empty for a success
}

// WriteWebhookAttempts adds attempts to the log, which keeps them for 30 days.
func (a Accounts) WriteWebhookAttempts(ctx context.Context, attempts []WebhookAttempt) error {
	return warehouse.InsertRows(ctx, a.w, `INSERT INTO webhook_attempts (endpoint_id, at, message_id, message_type, attempt,
		status, duration_ms, error)`, "write attempts of webhooks",
		warehouse.Values(attempts, func(a WebhookAttempt) []any {
			return []any{a.EndpointID, a.At, a.MessageID, a.MessageType, a.Attempt, a.Status, a.DurationMS, a.Error}
		}))
}

// WebhookAttempts returns the last attempts of an endpoint, newest first.
func (a Accounts) WebhookAttempts(ctx context.Context, endpointID string, limit uint64) ([]WebhookAttempt, error) {
	return warehouse.Find[WebhookAttempt](ctx, a.w, "read attempts of webhook "+endpointID, sqlText("webhook_attempt_list"),
		clickhouse.Named("endpoint", endpointID), clickhouse.Named("limit", limit))
}

// WebhookOutcome is what the log of 30 days says of an endpoint.
type WebhookOutcome struct {
	// SucceededAt is when the last attempt that was accepted began; the Unix epoch for none.
	SucceededAt time.Time
	LastError   string // of the last attempt; empty if it was accepted
}

// WebhookOutcomes returns what the log says of each endpoint that is in it, by endpoint.
func (a Accounts) WebhookOutcomes(ctx context.Context) (map[string]WebhookOutcome, error) {
	return warehouse.FindBy[string, WebhookOutcome](ctx, a.w, "read the outcomes of webhooks",
		sqlText("webhook_attempt_outcomes"))
}
