package accounts_test

import (
	"errors"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"pnyx/cache"
	"pnyx/governance"
	"pnyx/governance/query"
	"pnyx/test/env"
)

func upgradeClaims() []claim {
	return []claim{
		{"an upgrade finds the accounts of format 3", upgradeFindsAccounts},
		{"an upgrade reads no view of format 3 and lets it expire", upgradeExpiresViews},
	}
}

// writeFormat3 stores what the version with format 3 has left in Redis: views and the
// state of publication, tokens, and accounts that are in no warehouse yet.
func (t *fixture) writeFormat3() {
	t.Helper()
	const view = "0000000000000007\x85\xa1a\x00\xa1r\xa5ready\xa1f\xc0\xa1p\xa1x"
	_, err := t.raw.Pipelined(t.Context(), func(pipe redis.Pipeliner) error {
		ctx := t.Context()
		for _, key := range []string{
			"view:dao:uniswap", "view:data-status:", "mark:ballots:p1", "{tokens}:all", "{worker}:published", "{daos}:state",
		} {
			pipe.Set(ctx, "pnyx:3:"+key, view, 0)
		}
		pipe.HSet(ctx, "pnyx:3:{daos}:rows", "uniswap", view)
		pipe.ZAdd(ctx, "pnyx:3:{daos}:list:::", redis.Z{Member: "uniswap"})
		pipe.HSet(ctx, "pnyx:3:{usage}:journal", "meter|token|2026-03-01|daos.list", "counted")
		pipe.Set(ctx, "pnyx:3:{limit:token}:month:2026-03", "41", 40*24*time.Hour)
		pipe.Set(ctx, "pnyx:3:{payments}:restored", "1", 0)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// Usage counters that no worker has drained exist nowhere else, and so do payments that
// are only claimed: their keys keep their names and values. Quotas and all later states
// of payments could be restored from the warehouse as well.
func upgradeFindsAccounts(t *fixture) {
	t.writeFormat3()
	counters, _, err := t.store.Counters(t.Context(), 0, 100)
	if err != nil || len(counters) != 1 || counters[0].Value != "counted" {
		t.Errorf("usage counters: got %v, %v, want the one of format 3", counters, err)
	}
	if used, err := t.store.QuotaUsed(t.Context(), "token", "2026-03"); err != nil || used != 41 {
		t.Errorf("quota: got %d, %v, want 41", used, err)
	}
	t.wantClaim(newPayment("1"), "a", governance.PaymentClaimed, true) // without a restore
	if done, err := t.cache.ExpirePreviousFormat(t.Context()); err != nil || !done {
		t.Fatalf("expire format 3: got %t, %v", done, err)
	}
	for _, key := range []string{"{usage}:journal", "{payments}:restored"} {
		if ttl, err := t.raw.TTL(t.Context(), "pnyx:3:"+key).Result(); err != nil || ttl != -1 {
			t.Errorf("TTL of %s: got %s, %v, want none", key, ttl, err)
		}
	}
}

func upgradeExpiresViews(t *fixture) {
	t.writeFormat3()
	if _, err := t.cache.View(t.Context(), cache.DAODetailKey("uniswap")); !errors.Is(err, cache.ErrMiss) {
		t.Errorf("view: got %v, want %v", err, cache.ErrMiss)
	}
	if _, err := t.cache.PublicationState(t.Context()); !errors.Is(err, cache.ErrMiss) {
		t.Errorf("state of publication: got %v, want %v", err, cache.ErrMiss)
	}
	if _, err := t.cache.DAOPage(t.Context(), query.DAOs{Paging: query.Paging[query.DAOPosition]{Limit: 10}}); !errors.Is(err, cache.ErrMiss) {
		t.Errorf("DAO index: got %v, want %v", err, cache.ErrMiss)
	}
	// A token cache would serve tokens that the worker of this version does not update.
	if _, err := t.store.TokensRevision(t.Context()); !errors.Is(err, cache.ErrMiss) {
		t.Errorf("tokens: got %v, want %v", err, cache.ErrMiss)
	}
	const lease = "pnyx:3:{worker}:lease"
	if err := t.raw.Set(t.Context(), lease, "a worker of format 3", time.Minute).Err(); err != nil {
		t.Fatal(err)
	}
	if done, err := t.cache.ExpirePreviousFormat(t.Context()); err != nil || done {
		t.Errorf("while a worker of format 3 leads: got %t, %v, want false", done, err)
	}
	if err := t.raw.Del(t.Context(), lease).Err(); err != nil {
		t.Fatal(err)
	}
	t.setView("uniswap")
	for range 2 { // again, as by the next leader
		if done, err := t.cache.ExpirePreviousFormat(t.Context()); err != nil || !done {
			t.Fatalf("got %t, %v, want true", done, err)
		}
	}
	// The state expires first: without it a node of format 3 answers 503, not 404.
	t.wantTTL("{worker}:published", 24*time.Hour)
	for _, key := range []string{
		"view:dao:uniswap", "view:data-status:", "mark:ballots:p1", "{tokens}:all",
		"{daos}:state", "{daos}:rows", "{daos}:list:::",
	} {
		t.wantTTL(key, 48*time.Hour)
	}
	if ttl, err := t.raw.TTL(t.Context(), string(cache.DAODetailKey("uniswap"))).Result(); err != nil || ttl != -1 {
		t.Errorf("TTL of a view of this version: got %s, %v, want none", ttl, err)
	}
}

// wantTTL checks the TTL of a key of format 3, up to an hour.
func (t *fixture) wantTTL(key string, want time.Duration) {
	t.Helper()
	ttl, err := t.raw.TTL(t.Context(), "pnyx:3:"+key).Result()
	if err != nil || ttl > want || ttl < want-time.Hour {
		t.Errorf("TTL of %s: got %s, %v, want %s", key, ttl, err, want)
	}
}

// setView publishes the detail of a DAO in the present format.
func (t *fixture) setView(daoID string) {
	t.Helper()
	view, err := cache.NewView(cache.View{Readiness: governance.Ready}, "text")
	if err != nil {
		t.Fatal(err)
	}
	writer := t.cache.NewWriter(1)
	if err := errors.Join(writer.SetView(t.Context(), cache.DAODetailKey(daoID), view), writer.Flush(t.Context())); err != nil {
		t.Fatal(err)
	}
}

func TestAFreshRedisHoldsNoPreviousFormat(t *testing.T) {
	t.Parallel()
	f := newFixture(t, env.EmbeddedRedis(t))
	if done, err := f.cache.ExpirePreviousFormat(t.Context()); err != nil || !done {
		t.Errorf("got %t, %v, want true", done, err)
	}
}
