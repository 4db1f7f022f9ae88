package cache_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"pnyx/cache"
	"pnyx/cache/embedded"
	"pnyx/governance"
	"pnyx/test/env"
)

// soon is how long anything in these tests may take. Nothing waits for it when all is well.
const soon = time.Minute

func TestMain(m *testing.M) {
	env.QuietRedis()
	goleak.VerifyTestMain(m, env.RedisLeftover())
}

// bench is a test of a store, on an empty Redis of its own.
type bench struct {
	*testing.T

	url   string
	store *cache.Store
	// raw does to the same Redis what the store does not.
	raw redis.UniversalClient
	// kill takes the Redis away.
	kill func()
}

func newBench(t *testing.T, url string, kill func()) *bench {
	t.Helper()
	b := &bench{T: t, url: url, raw: env.RedisClient(t, url), kill: kill}
	b.store = b.open(soon)
	return b
}

func (t *bench) open(timeout time.Duration) *cache.Store {
	t.Helper()
	store := env.Must(cache.Open(t.url, timeout))(t)
	t.Cleanup(func() { store.Close() })
	return store
}

// set writes a value past the store.
func (t *bench) set(key cache.Key, value string) {
	t.Helper()
	env.MustDo(t, t.raw.Set(t.Context(), string(key), value, 0).Err())
}

// publish writes with a publication's writer, to the end.
func (t *bench) publish(revision uint64, write func(*cache.Writer)) {
	t.Helper()
	writer := t.store.NewWriter(revision)
	write(writer)
	env.MustDo(t, writer.Flush(t.Context()))
}

// setView publishes a view whose payload is a text.
func (t *bench) setView(revision uint64, key cache.Key, text string) {
	t.Helper()
	view := env.Must(cache.NewView(cache.View{Readiness: governance.Ready}, text))(t)
	t.publish(revision, func(w *cache.Writer) { w.SetView(t.Context(), key, view) })
}

// wantView checks the text of a view, and which publication wrote it.
func (t *bench) wantView(key cache.Key, want string, revision uint64) {
	t.Helper()
	view, err := t.store.View(t.Context(), key)
	if err != nil {
		t.Fatalf("view %s: %v", key, err)
	}
	var got string
	if err := view.Decode(&got); err != nil || got != want || view.Revision != revision {
		t.Errorf("view %s: got %q of revision %d, %v, want %q of %d", key, got, view.Revision, err, want, revision)
	}
}

// claim is what must hold on every kind of Redis.
type claim struct {
	name  string
	check func(t *bench)
}

// claims are all of them. Those that take the Redis away come last.
func claims() []claim {
	return slices.Concat(viewClaims(), directoryClaims(), leaseClaims(), changeClaims(), outageClaims())
}

func TestOnTheEmbeddedRedis(t *testing.T) {
	t.Parallel()
	for _, claim := range claims() {
		t.Run(claim.name, func(t *testing.T) {
			t.Parallel()
			ctx, stop := context.WithCancel(context.Background())
			t.Cleanup(stop)
			url := env.Must(embedded.StartInProcess(ctx))(t)
			b := newBench(t, url, stop)
			claim.check(b)
			b.wantDocumentedKeys()
		})
	}
}

func TestOnARealRedis(t *testing.T) {
	t.Parallel()
	for _, claim := range claims() {
		t.Run(claim.name, func(t *testing.T) {
			t.Parallel()
			server := env.Redis(t)
			claim.check(newBench(t, server.URL, server.Kill))
		})
	}
}

//nolint:tparallel // a cluster takes seconds to start: the claims share one
func TestOnARedisCluster(t *testing.T) {
	t.Parallel()
	cluster := env.RedisCluster(t)
	for _, claim := range claims() {
		t.Run(claim.name, func(t *testing.T) {
			b := newBench(t, cluster.URL, cluster.Kill)
			env.FlushRedis(t, b.raw)
			claim.check(b)
		})
	}
}
