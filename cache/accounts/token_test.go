package accounts_test

import (
	"context"
	"errors"

	"pnyx/cache"
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
	if got, err := t.store.TokensRevision(t.Context()); err != nil || got != revision {
		t.Errorf("revision of tokens: got %d, %v, want %d", got, err, revision)
	}
}

func olderTokensNeverReplaceNewer(t *fixture) {
	for _, step := range []struct {
		tokens   string
		revision uint64
	}{{"second", 20}, {"first", 3}} {
		if err := t.store.SetTokens(t.Context(), step.revision, []byte(step.tokens)); err != nil {
			t.Fatal(err)
		}
	}
	t.wantTokens("second", 20)
	if err := t.store.ReplaceTokens(t.Context(), 19, []byte("older")); err != nil {
		t.Fatal(err)
	}
	t.wantTokens("second", 20)
	if err := t.store.ReplaceTokens(t.Context(), 20, []byte("same revision")); err != nil {
		t.Fatal(err)
	}
	t.wantTokens("same revision", 20)
}

func tokensAreReplacedOnlyWhereStored(t *fixture) {
	if err := t.store.ReplaceTokens(t.Context(), 1, []byte("x")); err != nil {
		t.Fatal(err)
	}
	if _, err := t.store.TokensRevision(t.Context()); !errors.Is(err, cache.ErrMiss) {
		t.Errorf("revision of tokens: got %v, want %v", err, cache.ErrMiss)
	}
	if _, _, err := t.store.Tokens(t.Context()); !errors.Is(err, cache.ErrMiss) {
		t.Errorf("tokens: got %v, want %v", err, cache.ErrMiss)
	}
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
		if err := step.set(t.Context(), step.revision, []byte("tokens")); err != nil {
			t.Fatal(err)
		}
		if got := told(); got != step.want {
			t.Errorf("revision %d: got %d notifications, want %d", step.revision, got, step.want)
		}
	}
}
