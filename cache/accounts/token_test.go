package accounts_test

import (
	"errors"

	"pnyx/cache"
)

func tokenClaims() []claim {
	return []claim{
		{"an older revision of tokens never replaces a newer one", olderTokensNeverReplaceNewer},
		{"tokens are replaced only where some are stored", tokensAreReplacedOnlyWhereStored},
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
