package accounts

import (
	"context"
	"slices"
	"strings"
	"time"

	"pnyx/warehouse"
)

// Webhook is a receiver of events and signals, and what is known about it.
type Webhook struct {
	ID string `ch:"endpoint_id"`
	// TokenID is the partner token that the endpoint belongs to.
	TokenID string `ch:"token_id"`
	URL     string `ch:"url"`
	// Types are the types of messages that it receives: event.voting_ended, signal.* or *.
	Types []string
	// DAOIDs are the DAOs that it receives messages of; none for all.
	DAOIDs []string `ch:"dao_ids"`
	// Secret signs messages: whsec_ and a key in base64. PreviousSecret, if there is one, does so too until
	// PreviousUntil.
	Secret, PreviousSecret string
	PreviousUntil          time.Time
	CreatedAt              time.Time
	// EnabledAt is when it was added or last turned on, DisabledAt when it was last turned off, for a Reason in words.
	EnabledAt, DisabledAt time.Time
	Reason                string
	// FailingSince is the first failure since the last success; the Unix epoch for none.
	FailingSince time.Time
}

// Active reports whether the endpoint is on.
func (e Webhook) Active() bool { return e.DisabledAt.Before(e.EnabledAt) }

// Failing reports whether the last attempt of an endpoint failed.
func (e Webhook) Failing() bool { return e.FailingSince.Unix() > 0 }

// Wants reports whether the endpoint receives messages of a type about a DAO.
func (e Webhook) Wants(messageType, daoID string) bool {
	return (len(e.DAOIDs) == 0 || slices.Contains(e.DAOIDs, daoID)) &&
		slices.ContainsFunc(e.Types, func(pattern string) bool {
			prefix, all := strings.CutSuffix(pattern, "*")
			return pattern == messageType || all && strings.HasPrefix(messageType, prefix)
		})
}

// Webhooks returns the endpoints that are not removed, oldest first.
func (a Accounts) Webhooks(ctx context.Context) ([]Webhook, error) {
	return warehouse.Find[Webhook](ctx, a.w, "read webhooks", sqlText("webhook_endpoint_list"))
}

// PutWebhook writes an endpoint or a new version of it; removed ones are not listed.
func (a Accounts) PutWebhook(ctx context.Context, e Webhook, removed bool) error {
	changedAt, err := a.nextChange(ctx, "SELECT max(changed_at) FROM webhook_endpoints WHERE endpoint_id = ?", e.ID)
	if err != nil {
		return err
	}
	return warehouse.InsertRows(ctx, a.w, `INSERT INTO webhook_endpoints (endpoint_id, token_id, url, types, dao_ids, secret,
		previous_secret, previous_until, created_at, enabled_at, removed, changed_at)`, "write webhook "+e.ID, [][]any{{
		e.ID, e.TokenID, e.URL, e.Types, warehouse.NonNilTexts(e.DAOIDs), e.Secret,
		e.PreviousSecret, sinceEpoch(e.PreviousUntil), e.CreatedAt, e.EnabledAt, removed, changedAt,
	}})
}

// PutWebhookState writes DisabledAt, Reason and FailingSince of an endpoint.
func (a Accounts) PutWebhookState(ctx context.Context, e Webhook) error {
	version, err := a.nextVersion(ctx, "webhook_states", e.ID)
	if err != nil {
		return err
	}
	return warehouse.InsertRows(ctx, a.w, `INSERT INTO webhook_states (endpoint_id, disabled_at, reason, failing_since, version)`,
		"write the state of webhook "+e.ID,
		[][]any{{e.ID, sinceEpoch(e.DisabledAt), e.Reason, sinceEpoch(e.FailingSince), version}})
}

// nextVersion is nextChange for what a table has of an endpoint, in microseconds.
func (a Accounts) nextVersion(ctx context.Context, table, endpointID string) (uint64, error) {
	at, err := a.nextChange(ctx, "SELECT fromUnixTimestamp64Micro(toInt64(max(version)), 'UTC') FROM "+table+" WHERE endpoint_id = ?", endpointID)
	return uint64(at.UnixMicro()), err
}

// sinceEpoch returns the Unix epoch in place of the zero time, which no column holds.
func sinceEpoch(t time.Time) time.Time {
	if t.IsZero() {
		return time.Unix(0, 0)
	}
	return t
}
