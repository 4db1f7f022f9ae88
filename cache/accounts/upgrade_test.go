package accounts_test

import (
	"bytes"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/vmihailenco/msgpack/v5"

	"pnyx/cache"
	"pnyx/governance"
	"pnyx/governance/query"
	"pnyx/test/env"
)

func upgradeClaims() []claim {
	return []claim{
		{"an upgrade finds the accounts of the version before", upgradeFindsAccounts},
		{"an upgrade reads no view of format 4", upgradeReadsNoViews},
		{"an upgrade deletes the views of format 4 a day after its last worker", upgradeDeletesViews},
		{"a worker of format 4 that comes back publishes everything", upgradeLetsWorkersComeBack},
	}
}

// writeFormat4 stores what format 4 has left in Redis: views, state, tokens, and accounts.
func (t *fixture) writeFormat4() {
	t.Helper()
	const view = "0000000000000007\x85\xa1a\x00\xa1r\xa5ready\xa1f\xc0\xa1p\xa1x"
	env.Must(t.raw.Pipelined(t.Context(), func(pipe redis.Pipeliner) error {
		ctx := t.Context()
		for _, key := range []string{
			"view:dao:uniswap", "view:data-status:", "version:ballots:p1", "{tokens}:all", "{worker}:publication", "{daos}:state",
		} {
			pipe.Set(ctx, "pnyx:4:"+key, view, 0)
		}
		pipe.HSet(ctx, "pnyx:4:{daos}:rows", "uniswap", view)
		pipe.ZAdd(ctx, "pnyx:4:{daos}:list:::", redis.Z{Member: "uniswap"})
		pipe.HSet(ctx, "pnyx:3:{usage}:journal", "meter|token|2026-03-01|daos.list", "counted")
		pipe.Set(ctx, "pnyx:3:{limit:token}:month:2026-03", "41", 40*24*time.Hour)
		pipe.Set(ctx, "pnyx:3:{payments}:restored", "1", 0)
		return nil
	}))(t)
}

// Usage counters that no worker has drained exist nowhere else, and so do payments that are only claimed: their
// keys keep their names and values.
func upgradeFindsAccounts(t *fixture) {
	t.writeFormat4()
	counters, _, err := t.store.Counters(t.Context(), 0, 100)
	if err != nil || len(counters) != 1 || counters[0].Value != "counted" {
		t.Errorf("usage counters: got %v, %v, want the one of format 4", counters, err)
	}
	env.Want(t, 41, env.Must(t.store.QuotaUsed(t.Context(), "token", "2026-03"))(t), "quota")
	t.wantClaim(newPayment("1"), "a", governance.PaymentClaimed, true) // without a restore
	t.retireFormat4()
	t.endDay()
	for _, key := range []string{"{usage}:journal", "{limit:token}:month:2026-03", "{payments}:restored"} {
		env.Want(t, 1, env.Must(t.raw.Exists(t.Context(), "pnyx:3:"+key).Result())(t), key, "keys")
	}
}

func upgradeReadsNoViews(t *fixture) {
	t.writeFormat4()
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
}

// The keys of format 4 that decide what becomes of its values.
const (
	lease4 = "pnyx:4:{worker}:lease"
	state4 = "pnyx:4:{worker}:publication"
)

// views4 are the values of format 4 that an upgrade deletes.
func views4() []string {
	return []string{
		"pnyx:4:view:dao:uniswap", "pnyx:4:view:data-status:", "pnyx:4:version:ballots:p1", "pnyx:4:{tokens}:all",
		"pnyx:4:{daos}:state", "pnyx:4:{daos}:rows", "pnyx:4:{daos}:list:::",
	}
}

func upgradeDeletesViews(t *fixture) {
	t.writeFormat4()
	t.setView("uniswap")
	env.MustDo(t, t.raw.Set(t.Context(), lease4, "a worker of format 4", time.Minute).Err())
	if state, err := t.cache.EndedPreviousFormat(t.Context()); err != nil || state != nil {
		t.Errorf("while a worker of format 4 leads: got %q, %v, want nothing", state, err)
	}
	env.MustDo(t, t.raw.Del(t.Context(), lease4).Err())
	t.retireFormat4()
	if state, err := t.cache.EndedPreviousFormat(t.Context()); err != nil || state != nil {
		t.Errorf("after it was retired: got %q, %v, want nothing", state, err)
	}
	if ttl, err := t.raw.TTL(t.Context(), state4).Result(); err != nil || ttl > 24*time.Hour || ttl < 23*time.Hour {
		t.Errorf("TTL of the state: got %s, %v, want a day", ttl, err)
	}
	t.deletePrevious()
	t.wantViews4(7)
	t.endDay()
	t.wantViews4(0)
	if _, err := t.cache.View(t.Context(), cache.DAODetailKey("uniswap")); err != nil {
		t.Errorf("a view of this version: %v", err)
	}
}

// After a rollback nothing of format 4 ends: its worker has a state without a lifetime.
func upgradeLetsWorkersComeBack(t *fixture) {
	t.writeFormat4()
	encoded := env.Must(msgpack.Marshal(map[string]any{"revision": uint64(7), "serverRunIDs": "a run id", "cursorKey": []byte("secret")}))(t)
	set := func(value []byte) {
		env.MustDo(t, t.raw.Set(t.Context(), state4, value, 0).Err())
	}
	set(encoded)
	t.retireFormat4()
	retired := env.Must(t.raw.Get(t.Context(), state4).Bytes())(t)
	var state map[string]any
	env.MustDo(t, msgpack.Unmarshal(retired, &state))
	if state["serverRunIDs"] == "a run id" || fmt.Sprintf("%v %s", state["revision"], state["cursorKey"]) != "7 secret" {
		t.Errorf("state: got %v, want another Redis', and otherwise as it was", state)
	}
	set(encoded) // as its next publication does
	t.deletePrevious()
	t.wantViews4(7)
	if ended, err := t.cache.EndedPreviousFormat(t.Context()); err != nil || !bytes.Equal(ended, encoded) {
		t.Errorf("when it has ended: got %q, %v, want its state", ended, err)
	}
	// It has led again since the state was read.
	env.MustDo(t, t.cache.RetirePreviousFormat(t.Context(), retired))
	if got, err := t.raw.Get(t.Context(), state4).Bytes(); err != nil || !bytes.Equal(got, encoded) {
		t.Errorf("a state that has changed: got %q, %v, want it as it is", got, err)
	}
}

// retireFormat4 does what a leader does after the last worker of format 4.
func (t *fixture) retireFormat4() {
	t.Helper()
	state, err := t.cache.EndedPreviousFormat(t.Context())
	if err != nil || state == nil {
		t.Fatalf("got %q, %v, want the state of format 4", state, err)
	}
	env.MustDo(t, t.cache.RetirePreviousFormat(t.Context(), state))
}

// endDay lets the state of format 4 expire, and deletes what is left.
func (t *fixture) endDay() {
	t.Helper()
	env.MustDo(t, t.raw.Del(t.Context(), state4).Err())
	t.deletePrevious()
}

func (t *fixture) deletePrevious() {
	t.Helper()
	for range 2 { // again, as by the next leader
		env.MustDo(t, t.cache.DeletePreviousFormat(t.Context()))
	}
}

// wantViews4 checks how many of views4 there are, none of which has a lifetime.
func (t *fixture) wantViews4(want int) {
	t.Helper()
	got := 0
	for _, key := range views4() {
		switch ttl, err := t.raw.TTL(t.Context(), key).Result(); {
		case err != nil:
			t.Fatal(err)
		case ttl == -1:
			got++
		case ttl > 0:
			t.Errorf("TTL of %s: got %s, want none", key, ttl)
		}
	}
	env.Want(t, want, got, "views of format 4")
}

// setView publishes the detail of a DAO in the present format.
func (t *fixture) setView(daoID string) {
	t.Helper()
	view := env.Must(cache.NewView(cache.View{Readiness: governance.Ready}, "text"))(t)
	writer := t.cache.NewWriter(1)
	writer.SetView(t.Context(), cache.DAODetailKey(daoID), view)
	env.MustDo(t, writer.Flush(t.Context()))
}

func TestAFreshRedisHoldsNoPreviousFormat(t *testing.T) {
	t.Parallel()
	f := newFixture(t, env.EmbeddedRedis(t))
	if state, err := f.cache.EndedPreviousFormat(t.Context()); err != nil || state != nil {
		t.Errorf("got %q, %v, want nothing", state, err)
	}
	env.WantError(t, nil, f.cache.DeletePreviousFormat(t.Context()))
}
