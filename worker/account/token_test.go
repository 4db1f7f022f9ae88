package account

import (
	"bytes"
	"testing"
	"time"

	"pnyx/cache/accounts"
	"pnyx/test/env"
)

func TestTokensReadBeforeTheLastPublicationAreNotPublished(t *testing.T) {
	t.Parallel()
	store := env.Store(t, env.EmbeddedRedis(t))
	a := &Accounts{store: accounts.New(store)}
	read := time.Now()
	seen := uint64(read.Add(-time.Minute).UnixMicro())
	env.MustDo(t, a.store.SetTokens(t.Context(), seen, []byte("old")))
	// `token issue` writes and publishes between the worker's read and its publication.
	issued := read.Add(time.Millisecond)
	env.MustDo(t, a.store.SetTokens(t.Context(), uint64(issued.UnixMicro()), []byte("with the new token")))
	env.MustDo(t, a.replace(t.Context(), read, seen, []byte("without")))
	wantTokens(t, a, "with the new token")
	env.MustDo(t, a.replace(t.Context(), issued.Add(time.Millisecond), uint64(issued.UnixMicro()), []byte("of the next round")))
	wantTokens(t, a, "of the next round")
}

func wantTokens(t *testing.T, a *Accounts, want string) {
	t.Helper()
	_, got, err := a.store.Tokens(t.Context())
	if err != nil || !bytes.Equal(got, []byte(want)) {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
}
