package webhook

import (
	"context"
	"crypto/rand"
	"fmt"
	"time"

	"pnyx/governance"
	"pnyx/warehouse/accounts"
	"pnyx/worker/fill"
)

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
	for id, row := range events {
		if row.DAOName, err = names.Of(ctx, row.DAOID); err != nil {
			return nil, err
		}
		text, err := payload{"event." + string(row.EventType), row.EventTimeMs, row}.encode()
		if err != nil {
			return nil, err
		}
		bodies[id] = messageBody{text: text}
	}
	named := make([]*governance.SignalRow, 0, len(signals))
	for _, row := range signals {
		named = append(named, &row)
	}
	if err := fill.NameSignals(ctx, d.Store, d.Warehouse, named); err != nil {
		return nil, err
	}
	for _, row := range named {
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
