package accounts

import (
	"context"
	"fmt"
	"time"

	"pnyx/warehouse"
)

// Token is a partner token as stored: never the token itself.
type Token struct {
	ID   string `ch:"token_id"` // part of the token
	Name string // of the partner
	Plan string
	// Limits replace the plan's limits: requests a month, then requests a minute and
	// burst of the standard and of the detail bucket. Empty for the plan's limits.
	Limits []uint32
	Scopes []string
	// Hash is the SHA-256 of the token, PreviousHash of the token before its last rotation, which is valid until
	// PreviousUntil. Without a rotation PreviousHash is zero, and PreviousUntil zero or the Unix epoch.
	Hash          [32]byte `ch:"verifier"`
	PreviousHash  [32]byte `ch:"previous_verifier"`
	PreviousUntil time.Time
	CreatedAt     time.Time
	ExpiresAt     *time.Time // nil for never
	// RevokedAt is nil for a valid token. PutToken does not write it; see RevokeToken.
	RevokedAt *time.Time
}

// Accounts is what a warehouse holds of callers: tokens, usage, payments, webhooks and keys. Its rows are written
// at once, outside of batches.
type Accounts struct{ w *warehouse.Warehouse }

// NewAccounts returns the accounts of a warehouse.
func NewAccounts(w *warehouse.Warehouse) Accounts { return Accounts{w} }

// Tokens returns every token, revoked ones included, oldest first.
func (a Accounts) Tokens(ctx context.Context) ([]Token, error) {
	return warehouse.Find[Token](ctx, a.w, "read tokens", sqlText("token_list"))
}

// PutToken writes a token or a new version of it.
func (a Accounts) PutToken(ctx context.Context, t Token) error {
	changedAt, err := a.nextChange(ctx, "SELECT max(changed_at) FROM tokens WHERE token_id = ?", t.ID)
	if err != nil {
		return err
	}
	return warehouse.InsertRows(ctx, a.w, `INSERT INTO tokens (token_id, name, plan, scopes, verifier,
		previous_verifier, previous_until, limits, created_at, expires_at, changed_at)`, "write token "+t.ID, [][]any{{
		t.ID, t.Name, t.Plan, warehouse.NonNilTexts(t.Scopes), string(t.Hash[:]), string(t.PreviousHash[:]),
		sinceEpoch(t.PreviousUntil), append([]uint32{}, t.Limits...), t.CreatedAt, t.ExpiresAt, changedAt,
	}})
}

// nextChange returns the time of a change by the server's clock, or a later one than that of the last change,
// which a statement finds by an id: where the clock was set back, the last change would stay in force.
func (a Accounts) nextChange(ctx context.Context, lastChange, id string) (time.Time, error) {
	now, err := a.w.Now(ctx)
	if err != nil {
		return time.Time{}, err
	}
	last, err := warehouse.FindValue[time.Time](ctx, a.w, "read when "+id+" last changed", lastChange, id)
	if !now.After(last) {
		now = last.Add(time.Microsecond)
	}
	return now, err
}

// RevokeToken revokes a token. No later PutToken undoes it.
func (a Accounts) RevokeToken(ctx context.Context, id string) error {
	if err := a.w.Conn.Exec(ctx, sqlText("token_revoke"), id); err != nil {
		return fmt.Errorf("revoke token %s: %w", id, err)
	}
	return nil
}
