package account

import (
	"bytes"
	"context"
	"errors"
	"time"

	"pnyx/access"
	"pnyx/cache"
	"pnyx/cache/accounts"
	"pnyx/ratelimit"
	"pnyx/warehouse"
	stored "pnyx/warehouse/accounts"
)

// PublishTokens publishes the warehouse's tokens in place of the published ones. To a Redis that was flushed it
// publishes nothing: the worker restores usage there first.
func PublishTokens(ctx context.Context, w *warehouse.Warehouse, store *accounts.Store) error {
	published, err := store.TokensRevision(ctx)
	if errors.Is(err, cache.ErrMiss) {
		return nil
	}
	if err != nil {
		return err
	}
	now, err := w.Now(ctx)
	if err != nil {
		return err
	}
	tokens, err := encodedTokens(ctx, w)
	if err != nil {
		return err
	}
	return store.ReplaceTokens(ctx, cache.NextRevision(now, published), tokens)
}

func (a *Accounts) publishTokens(ctx context.Context, pending accounts.Pending) error {
	// Read before the pulse: whatever was published until then, the warehouse holds it already.
	published, missing := pending.TokensRevision, pending.TokensMissing
	pulse, err := a.Warehouse.Pulse(ctx, warehouse.IdlePulseAge)
	if err != nil {
		return err
	}
	if !missing && published == a.revision && pulse.Quiet(a.pulse) && time.Since(a.compared) < compareInterval {
		return nil
	}
	// Read before the tokens: of two workers, the one that read later has the later revision.
	now, err := a.Warehouse.Now(ctx)
	if err != nil {
		return err
	}
	tokens, err := encodedTokens(ctx, a.Warehouse)
	if err != nil {
		return err
	}
	switch {
	case missing:
		// Usage comes first, so that no caller is authenticated before its quota is known.
		if err = a.publishUsage(ctx, now, nil); err == nil {
			err = a.store.SetTokens(ctx, uint64(now.UnixMicro()), tokens)
		}
	case published != a.revision || !bytes.Equal(tokens, a.tokens):
		err = a.replace(ctx, now, published, tokens)
	}
	if err == nil {
		a.compared, a.pulse = time.Now(), pulse
	}
	return err
}

// replace publishes tokens unless others have published the same, at a revision later than theirs, which may come
// from an older read. What was published since the revision seen may be newer: the next round compares.
func (a *Accounts) replace(ctx context.Context, now time.Time, seen uint64, tokens []byte) error {
	revision, published, err := a.store.Tokens(ctx)
	if err != nil || revision != seen {
		return err
	}
	if !bytes.Equal(published, tokens) {
		revision = cache.NextRevision(now, revision)
		if err := a.store.ReplaceTokens(ctx, revision, tokens); err != nil {
			return err
		}
	}
	a.tokens, a.revision = tokens, revision
	return nil
}

func encodedTokens(ctx context.Context, w *warehouse.Warehouse) ([]byte, error) {
	tokens, err := stored.NewAccounts(w).Tokens(ctx)
	if err != nil {
		return nil, err
	}
	valid := []access.Token{}
	for _, token := range tokens {
		if token.RevokedAt == nil {
			valid = append(valid, accessToken(token))
		}
	}
	return access.EncodeTokens(valid), nil
}

func accessToken(t stored.Token) access.Token {
	r := access.Token{
		ID: t.ID, Plan: ratelimit.Plan(t.Plan), Limits: ratelimit.LimitsFromRow(t.Limits),
		Hash: t.Hash, PreviousHash: t.PreviousHash, PreviousUntil: t.PreviousUntil,
		CreatedAt: t.CreatedAt, ExpiresAt: t.ExpiresAt,
	}
	for _, scope := range t.Scopes {
		r.Scopes = append(r.Scopes, access.Scope(scope))
	}
	return r
}
