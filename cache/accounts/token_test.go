package accounts_test

import (
	"context"
	"errors"
	"testing"

	"pnyx/cache"
	"pnyx/test/env"
)

func tokenClaims() []claim {
	return []claim{
		{"an older revision of tokens never replaces a newer one", olderTokensNeverReplaceNewer},
		{"tokens are replaced only where some are stored", tokensAreReplacedOnlyWhereStored},
		{"nodes are told of tokens", nodesAreToldOfTokens},
	}
}

func (t *fixture) wantTokens(want string, revision uint64) {
	t.Helper()
	got, tokens, err := t.store.Tokens(t.Context())
	if err != nil || got != revision || string(tokens) != want {
		t.Errorf("tokens: got %q at %d, %v, want %q at %d", tokens, got, err, want, revision)
	}
	env.Want(t, revision, env.Must(t.store.TokensRevision(t.Context()))(t), "revision of tokens")
}

func olderTokensNeverReplaceNewer(t *fixture) {
	for _, step := range []struct {
		tokens   string
		revision uint64
	}{{"second", 20}, {"first", 3}} {
		env.MustDo(t, t.store.SetTokens(t.Context(), step.revision, []byte(step.tokens)))
	}
	t.wantTokens("second", 20)
	env.MustDo(t, t.store.ReplaceTokens(t.Context(), 19, []byte("older")))
	t.wantTokens("second", 20)
	env.MustDo(t, t.store.ReplaceTokens(t.Context(), 20, []byte("same revision")))
	t.wantTokens("same revision", 20)
}

func tokensAreReplacedOnlyWhereStored(t *fixture) {
	env.MustDo(t, t.store.ReplaceTokens(t.Context(), 1, []byte("x")))
	if _, err := t.store.TokensRevision(t.Context()); !errors.Is(err, cache.ErrMiss) {
		t.Errorf("revision of tokens: got %v, want %v", err, cache.ErrMiss)
	}
	if _, _, err := t.store.Tokens(t.Context()); !errors.Is(err, cache.ErrMiss) {
		t.Errorf("tokens: got %v, want %v", err, cache.ErrMiss)
	}
}

func TestRevocationsReachAFullRedis(t *testing.T) {
	t.Parallel()
	f := newFixture(t, env.Redis(t).URL)
	env.MustDo(t, f.store.SetTokens(t.Context(), 1, []byte("leaked")))
	env.MustDo(t, f.raw.ConfigSet(t.Context(), "maxmemory", "1").Err())
	env.MustDo(t, f.store.ReplaceTokens(t.Context(), 2, []byte("revoked")))
	f.wantTokens("revoked", 2)
}

func nodesAreToldOfTokens(t *fixture) {
	told := func() uint64 {
		t.Helper()
		_, number, err := t.cache.PublicationProgress(t.Context())
		if err != nil && !errors.Is(err, cache.ErrMiss) {
			t.Fatal(err)
		}
		return number
	}
	for _, step := range []struct {
		revision, want uint64
		set            func(context.Context, uint64, []byte) error
	}{
		{20, 0, t.store.ReplaceTokens}, // there are none
		{20, 1, t.store.SetTokens},
		{19, 1, t.store.ReplaceTokens}, // an older revision
		{21, 2, t.store.ReplaceTokens},
	} {
		env.MustDo(t, step.set(t.Context(), step.revision, []byte("tokens")))
		env.Want(t, step.want, told(), "revision", step.revision, "notifications")
	}
}
