package access

import (
	"context"
	"crypto/rand"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/vmihailenco/msgpack/v5"

	"pnyx/backoff"
	"pnyx/cache"
	"pnyx/cache/accounts"
)

// pollInterval is the time between two polls, well below the second within which a revocation takes effect.
const pollInterval = 500 * time.Millisecond

// RecheckInterval is the least time between two reads for unknown tokens: 40 a second, whoever sends them.
const RecheckInterval = 25 * time.Millisecond

// EncodeTokens returns tokens in their published form. Equal tokens have equal forms.
func EncodeTokens(tokens []Token) []byte { return cache.Encode(tokens) }

// TokenCache is a node's copy of the valid tokens. It is safe for concurrent use.
type TokenCache struct {
	store      *accounts.Store
	launchedAt time.Time
	current    atomic.Pointer[tokenSet]
	// upToDate means that the last poll succeeded. Otherwise an unknown token may still be valid.
	upToDate atomic.Bool
	// next is closed after the read of the tokens that has not begun; wake asks Run for it.
	next atomic.Pointer[chan struct{}]
	wake chan struct{}
	// dummyToken stands in for an unknown token, so that checking it takes as long.
	dummyToken Token
}

type tokenSet struct {
	revision uint64
	byID     map[string]*Token
}

// NewTokenCache returns a copy that is empty until Run. launchedAt is the launch of v2, or zero.
func NewTokenCache(store *accounts.Store, launchedAt time.Time) *TokenCache {
	c := &TokenCache{store: store, launchedAt: launchedAt, wake: make(chan struct{}, 1)}
	c.current.Store(&tokenSet{})
	c.next.Store(new(make(chan struct{})))
	_, _ = rand.Read(c.dummyToken.Hash[:]) // it never fails
	return c
}

// Run keeps the copy up to date until ctx ends. While Redis is unavailable or has no tokens, the last copy stays.
func (c *TokenCache) Run(ctx context.Context) {
	for ctx.Err() == nil {
		begun := c.next.Swap(new(make(chan struct{})))
		c.upToDate.Store(c.refresh(ctx) == nil)
		close(*begun)
		backoff.Wait(ctx, RecheckInterval)
		backoff.Await(ctx, pollInterval, c.wake)
	}
}

// Refresh asks Run to read the tokens now, as after a notification.
func (c *TokenCache) Refresh() { backoff.Wake(c.wake) }

func (c *TokenCache) refresh(ctx context.Context) error {
	revision, err := c.store.TokensRevision(ctx)
	if err != nil || revision == c.current.Load().revision {
		return err
	}
	revision, encoded, err := c.store.Tokens(ctx)
	if err != nil {
		return err
	}
	var tokens []Token
	if err := msgpack.Unmarshal(encoded, &tokens); err != nil {
		return fmt.Errorf("decode tokens: %w", err)
	}
	next := &tokenSet{revision: revision, byID: make(map[string]*Token, len(tokens))}
	for i := range tokens {
		next.byID[tokens[i].ID] = &tokens[i]
	}
	c.current.Store(next)
	return nil
}

// Authenticate returns the caller that a token belongs to. A well-formed token takes the same time whether it is
// known or not. The error is ErrUnauthorized, which may be ErrUnknownToken, or ErrTokensUnavailable.
func (c *TokenCache) Authenticate(text string, now time.Time) (*Caller, error) {
	id, err := ParseToken(text)
	if err != nil {
		return nil, err
	}
	token, known := c.current.Load().byID[id]
	if !known {
		token = &c.dummyToken
	}
	valid := token.accepts(HashToken(text), now)
	switch {
	case valid && known:
		return &Caller{Token: token, Scopes: EffectiveScopes(token.Scopes, token.CreatedAt, c.launchedAt, now)}, nil
	case !c.upToDate.Load():
		return nil, ErrTokensUnavailable
	}
	return nil, ErrUnknownToken
}

// Recheck is Authenticate with a copy that was read after the call: an unknown token may have been published a
// moment ago. Callers share one read, and wait for it no longer than ctx.
func (c *TokenCache) Recheck(ctx context.Context, text string, now time.Time) (*Caller, error) {
	next := c.next.Load()
	c.Refresh()
	select {
	case <-*next:
	case <-ctx.Done():
		return nil, ErrTokensUnavailable
	}
	return c.Authenticate(text, now)
}

// Ready returns ErrTokensUnavailable until the first copy is read.
func (c *TokenCache) Ready() error {
	if c.current.Load().revision == 0 {
		return ErrTokensUnavailable
	}
	return nil
}
