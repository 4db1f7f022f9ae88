package warehouse

import (
	"context"
	"fmt"
	"time"
)

// Token is the record of a partner token.
type Token struct {
	ID   string
	Name string
	Plan string
	// Limits are those that replace the plan's: a month's, then requests a minute and
	// burst of the standard and of the detail bucket. Empty for those of the plan.
	Limits []uint32
	Scopes []string
	// Hash is the SHA-256 of the token. Previous is that of the one before its
	// rotation, which is good until PreviousUntil.
	Hash          [32]byte
	PreviousHash  [32]byte
	PreviousUntil time.Time
	CreatedAt     time.Time
	ExpiresAt     *time.Time
	// RevokedAt is not written with the rest; see RevokeToken.
	RevokedAt *time.Time
}

// Tokens returns every token, revoked ones too, the oldest first.
func (w *Warehouse) Tokens(ctx context.Context) ([]Token, error) {
	rows, err := w.conn.Query(ctx, sqlText("token_list"))
	if err != nil {
		return nil, fmt.Errorf("read tokens: %w", classifyError(err))
	}
	defer rows.Close()
	var tokens []Token
	for rows.Next() {
		var t Token
		var verifier, previous string
		if err := rows.Scan(&t.ID, &t.Name, &t.Plan, &t.Scopes, &verifier, &previous, &t.PreviousUntil, &t.Limits,
			&t.CreatedAt, &t.ExpiresAt, &t.RevokedAt); err != nil {
			return nil, fmt.Errorf("read tokens: %w", err)
		}
		t.Hash, t.PreviousHash = [32]byte([]byte(verifier)), [32]byte([]byte(previous))
		tokens = append(tokens, t)
	}
	return tokens, classifyError(rows.Err())
}

// PutToken writes a token, or a new version of it.
func (w *Warehouse) PutToken(ctx context.Context, t Token) error {
	insert, err := w.conn.PrepareBatch(ctx, `INSERT INTO tokens (token_id, name, plan, scopes, verifier,
		previous_verifier, previous_until, limits, created_at, expires_at)`)
	if err != nil {
		return fmt.Errorf("write token %s: %w", t.ID, classifyError(err))
	}
	defer insert.Close()
	limits := t.Limits
	if limits == nil {
		limits = []uint32{}
	}
	if t.PreviousUntil.IsZero() {
		t.PreviousUntil = time.Unix(0, 0)
	}
	if err := insert.Append(t.ID, t.Name, t.Plan, nonNilTexts(t.Scopes), string(t.Hash[:]), string(t.PreviousHash[:]),
		t.PreviousUntil, limits, t.CreatedAt, t.ExpiresAt); err != nil {
		return fmt.Errorf("write token %s: %w", t.ID, err)
	}
	if err := insert.Send(); err != nil {
		return fmt.Errorf("write token %s: %w", t.ID, classifyError(err))
	}
	return nil
}

// RevokeToken revokes a token for good.
func (w *Warehouse) RevokeToken(ctx context.Context, id string) error {
	if err := w.conn.Exec(ctx, sqlText("token_revoke"), id); err != nil {
		return fmt.Errorf("revoke token %s: %w", id, classifyError(err))
	}
	return nil
}
