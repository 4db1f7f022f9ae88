package access_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9" //nolint:depguard // a hook counts what reaches Redis
	"go.uber.org/goleak"

	"pnyx/access"
	"pnyx/cache"
	"pnyx/cache/accounts"
	"pnyx/ratelimit"
	"pnyx/test/env"
)

var noon = time.Date(2026, 3, 14, 12, 0, 0, 0, time.UTC)

func TestMain(m *testing.M) {
	env.QuietRedis()
	goleak.VerifyTestMain(m, env.RedisLeftover())
}

// tokenTest is a token cache, and the Redis that it reads.
type tokenTest struct {
	*testing.T

	url      string
	store    *accounts.Store
	cache    *access.TokenCache
	revision uint64
	// reads counts the commands that reach Redis.
	reads readCounter
}

// newTokenTest publishes records before the directory reads for the first time.
func newTokenTest(t *testing.T, launchedAt time.Time, records ...access.Token) *tokenTest {
	t.Helper()
	url := env.EmbeddedRedis(t)
	store := env.Store(t, url)
	d := &tokenTest{T: t, url: url, store: accounts.New(store), cache: access.NewTokenCache(accounts.New(store), launchedAt)}
	cache.Client(store.Conn()).AddHook(&d.reads)
	if len(records) > 0 {
		d.publish(records...)
	}
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { d.cache.Run(ctx) })
	t.Cleanup(func() {
		stop()
		running.Wait()
	})
	return d
}

func (t *tokenTest) publish(records ...access.Token) {
	t.Helper()
	encoded := access.EncodeTokens(records)
	t.revision++
	env.MustDo(t, t.store.SetTokens(t.Context(), t.revision, encoded))
}

// wantSoon waits until a token is answered with an error, or with none.
func (t *tokenTest) wantSoon(token string, now time.Time, want error) *access.Caller {
	t.Helper()
	var caller *access.Caller
	env.Until(t, func() (err error) {
		if caller, err = t.cache.Authenticate(token, now); !errors.Is(err, want) {
			return fmt.Errorf("got %v, want %v", err, want) //nolint:errorlint // either may be nil
		}
		return nil
	})
	return caller
}

func newRecord(scopes ...access.Scope) (access.Token, string) {
	id := access.NewTokenID()
	token := access.GenerateToken(id)
	return access.Token{
		ID: id, Plan: ratelimit.Business, Scopes: scopes, Hash: access.HashToken(token), CreatedAt: noon,
	}, token
}

func TestWhoATokenIs(t *testing.T) {
	t.Parallel()
	d := newTokenTest(t, time.Time{})
	ends := noon.Add(time.Hour)
	record, token := newRecord(access.V2Plus)
	record.ExpiresAt = &ends
	other, _ := newRecord(access.V2Plus)
	d.publish(record, other)
	if got := d.wantSoon(token, noon, nil); got.ID != record.ID || got.Plan != ratelimit.Business || !got.HasScope(access.V2Plus) {
		t.Errorf("got %+v, want the caller of %+v", got, record)
	}
	wrong := access.GenerateToken(record.ID)
	unknown := access.GenerateToken(access.NewTokenID())
	for name, wanted := range map[string]struct {
		token string
		now   time.Time
	}{
		"of the same id": {wrong, noon}, "of an unknown id": {unknown, noon}, "malformed": {token + "x", noon},
		"expired": {token, ends}, "long expired": {token, ends.AddDate(1, 0, 0)},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := d.cache.Authenticate(wanted.token, wanted.now); !errors.Is(err, access.ErrUnauthorized) {
				t.Errorf("a token %s: got %v, want %v", name, err, access.ErrUnauthorized)
			}
		})
	}
	if _, err := d.cache.Authenticate(token, ends.Add(-time.Millisecond)); err != nil {
		t.Errorf("just before it expires: %v", err)
	}
}

func TestTheTokenBeforeARotationIsGoodForTheOverlap(t *testing.T) {
	t.Parallel()
	d := newTokenTest(t, time.Time{})
	record, before := newRecord(access.V2All)
	after := access.GenerateToken(record.ID)
	record.PreviousHash, record.Hash, record.PreviousUntil = record.Hash, access.HashToken(after), noon.Add(time.Hour)
	d.publish(record)
	d.wantSoon(after, noon, nil)
	d.wantSoon(before, noon.Add(time.Hour-time.Millisecond), nil)
	d.wantSoon(before, noon.Add(time.Hour), access.ErrUnauthorized)
	d.wantSoon(after, noon.Add(time.Hour), nil)
}

func TestAttackTokensOfV1AreUpgradedOnlyWhenV2IsLaunched(t *testing.T) {
	t.Parallel()
	ofV1 := []access.Scope{access.V1Standard, access.V1Plus, access.V1All}
	for name, c := range map[string]struct {
		scopes          []access.Scope
		launchedAt, now time.Time
		upgraded        bool
	}{
		"issued before, asks after":  {ofV1, noon.Add(time.Hour), noon.Add(time.Hour), true},
		"issued before, asks before": {ofV1, noon.Add(time.Hour), noon.Add(time.Hour - 1), false},
		"issued at the launch":       {ofV1, noon, noon.Add(time.Hour), false},
		"never launched":             {ofV1, time.Time{}, noon.Add(time.Hour), false},
		"without a scope of v1":      {[]access.Scope{access.V2Standard}, noon.Add(time.Hour), noon.Add(2 * time.Hour), false},
	} {
		for _, scope := range c.scopes {
			t.Run(name+", "+string(scope), func(t *testing.T) {
				t.Parallel()
				record, token := newRecord(scope)
				env.Want(t, c.upgraded, newTokenTest(t, c.launchedAt, record).wantSoon(token, c.now, nil).HasScope(access.V2Plus))
			})
		}
	}
}

func TestAFlushOfRedisMakesNobodyUnknown(t *testing.T) {
	t.Parallel()
	d := newTokenTest(t, time.Time{})
	client := env.RedisClient(t, d.url)
	known, token := newRecord(access.V2All)
	fresh, freshToken := newRecord(access.V2All)
	unknown := access.GenerateToken(access.NewTokenID())
	if _, err := d.cache.Authenticate(unknown, noon); !errors.Is(err, access.ErrTokensUnavailable) {
		t.Errorf("before anything is published: got %v, want %v", err, access.ErrTokensUnavailable)
	}
	d.publish(known)
	d.wantSoon(token, noon, nil)
	d.wantSoon(unknown, noon, access.ErrUnauthorized)

	env.FlushRedis(t, client)
	d.wantSoon(unknown, noon, access.ErrTokensUnavailable)
	d.wantSoon(token, noon, nil)
	d.wantSoon(token+"x", noon, access.ErrUnauthorized)

	d.publish(fresh) // the other one was revoked meanwhile
	d.wantSoon(token, noon, access.ErrUnauthorized)
	d.wantSoon(freshToken, noon, nil)
	d.wantSoon(unknown, noon, access.ErrUnauthorized)
}

// readCounter counts the commands of a Redis client.
type readCounter struct{ commands atomic.Int64 }

func (*readCounter) DialHook(next redis.DialHook) redis.DialHook { return next }

func (c *readCounter) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, command redis.Cmder) error {
		c.commands.Add(1)
		return next(ctx, command)
	}
}

func (*readCounter) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func TestAttackUnknownTokensShareReads(t *testing.T) {
	t.Parallel()
	record, token := newRecord(access.V2All)
	d := newTokenTest(t, time.Time{}, record)
	d.wantSoon(token, noon, nil)
	began, before := time.Now(), d.reads.commands.Load()
	const callers, tokens = 50, 2000
	env.Concurrently(t, callers, tokens, func(int) error {
		unknown := access.GenerateToken(access.NewTokenID())
		if _, err := d.cache.Recheck(t.Context(), unknown, noon); !errors.Is(err, access.ErrUnknownToken) {
			return fmt.Errorf("got %w, want %w", err, access.ErrUnknownToken)
		}
		return nil
	})
	most := int64(time.Since(began)/access.RecheckInterval) + 2
	if got := d.reads.commands.Load() - before; got > most {
		t.Errorf("got %d reads for %d unknown tokens, want at most %d", got, tokens, most)
	}
}

func TestRecheckEndsWithItsContext(t *testing.T) {
	t.Parallel()
	store := env.Store(t, env.EmbeddedRedis(t))
	ctx, stop := context.WithCancel(t.Context())
	stop()
	stopped := access.NewTokenCache(accounts.New(store), time.Time{}) // nothing reads
	_, unknown := newRecord()
	if _, err := stopped.Recheck(ctx, unknown, noon); !errors.Is(err, access.ErrTokensUnavailable) {
		t.Errorf("got %v, want %v", err, access.ErrTokensUnavailable)
	}
}

func TestAnOlderStateOfTheTokensIsNotPublished(t *testing.T) {
	t.Parallel()
	d := newTokenTest(t, time.Time{})
	record, token := newRecord(access.V2All)
	d.revision = 5
	d.publish(record)
	d.wantSoon(token, noon, nil)
	d.revision = 3
	d.publish()
	env.Want(t, 6, env.Must(d.store.TokensRevision(t.Context()))(t), "the revision")
}

func ExampleParseScopes() {
	scopes, err := access.ParseScopes("v2:paid:plus, v1:paid:standard")
	fmt.Println(scopes, err)
	// Output: [v1:paid:standard v2:paid:plus] <nil>
}
