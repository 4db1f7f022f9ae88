package access

import (
	"context"
	"crypto/rand"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/vmihailenco/msgpack/v5"

	"pnyx/cache/accounts"
)

// lookEvery is how often a node looks for changes of tokens. With the worker's own
// interval it stays far below the second within which a revocation has to hold.
const lookEvery = 250 * time.Millisecond

// EncodeTokens returns records as they are published, the same for the same ones.
func EncodeTokens(records []Token) ([]byte, error) {
	encoded, err := msgpack.Marshal(records)
	if err != nil {
		return nil, fmt.Errorf("encode tokens: %w", err)
	}
	return encoded, nil
}

// TokenCache is a node's copy of the tokens that are valid.
type TokenCache struct {
	store *accounts.Store
	// launchedAt is when v2 was; zero for never.
	launchedAt time.Time
	held       atomic.Pointer[held]
	// complete says that the copy was up to date when it was last looked at. While it
	// was not, a token that is not in it may still be valid.
	complete atomic.Bool
	// stranger stands in for the record of a token that nobody knows.
	stranger Token
}

// held is one state of the copy.
type held struct {
	revision uint64
	records  map[string]*Token
}

// NewTokenCache returns a copy that is empty until Run.
func NewTokenCache(store *accounts.Store, launchedAt time.Time) *TokenCache {
	d := &TokenCache{store: store, launchedAt: launchedAt}
	d.held.Store(&held{})
	_, _ = rand.Read(d.stranger.Hash[:]) // it never fails
	return d
}

// Run keeps the copy up to date until ctx ends. While Redis does not answer, or is
// being filled anew, the last copy stays.
func (d *TokenCache) Run(ctx context.Context) {
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	for {
		d.complete.Store(d.refresh(ctx) == nil)
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// refresh takes over what is published, if it is not what is held.
func (d *TokenCache) refresh(ctx context.Context) error {
	revision, err := d.store.TokensRevision(ctx)
	if err != nil || revision == d.held.Load().revision {
		return err
	}
	revision, encoded, err := d.store.Tokens(ctx)
	if err != nil {
		return err
	}
	var records []Token
	if err := msgpack.Unmarshal(encoded, &records); err != nil {
		return fmt.Errorf("decode tokens: %w", err)
	}
	fresh := &held{revision: revision, records: make(map[string]*Token, len(records))}
	for i := range records {
		fresh.records[records[i].ID] = &records[i]
	}
	d.held.Store(fresh)
	return nil
}

// Authenticate returns whose token it is. The error is ErrUnauthorized or
// ErrTokensUnavailable. A well-formed token takes the same time whether it is known or not.
func (d *TokenCache) Authenticate(token string, now time.Time) (*Caller, error) {
	id, err := ParseToken(token)
	if err != nil {
		return nil, err
	}
	record, known := d.held.Load().records[id]
	if !known {
		record = &d.stranger
	}
	valid := record.accepts(HashToken(token), now)
	switch {
	case valid && known:
		return &Caller{Token: record, Scopes: scopesInForce(record, d.launchedAt, now)}, nil
	case !d.complete.Load():
		return nil, ErrTokensUnavailable
	}
	return nil, fmt.Errorf("%w: it is unknown, expired or revoked", ErrUnauthorized)
}

// Ready says whether there is a copy, or why not.
func (d *TokenCache) Ready() error {
	if d.held.Load().revision == 0 {
		return ErrTokensUnavailable
	}
	return nil
}
