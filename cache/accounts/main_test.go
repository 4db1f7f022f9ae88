package accounts_test

import (
	"slices"
	"testing"

	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"pnyx/cache"
	"pnyx/cache/accounts"
	"pnyx/test/env"
)

func TestMain(m *testing.M) {
	env.QuietRedis()
	goleak.VerifyTestMain(m, env.RedisLeftover())
}

type fixture struct {
	*testing.T

	store *accounts.Store
	// cache is the cache whose connections the store shares.
	cache *cache.Store
	// raw reads and writes the same Redis without the store.
	raw redis.UniversalClient
}

func newFixture(t *testing.T, url string) *fixture {
	t.Helper()
	opened := env.Store(t, url)
	return &fixture{T: t, store: accounts.New(opened), cache: opened, raw: env.RedisClient(t, url)}
}

// claim is what must hold on every kind of Redis.
type claim struct {
	name  string
	check func(t *fixture)
}

func claims() []claim {
	return slices.Concat(paymentClaims(), tokenClaims(), usageClaims(), pendingClaims(), upgradeClaims())
}

func TestClaimsHoldOnTheEmbeddedRedis(t *testing.T) {
	t.Parallel()
	for _, claim := range claims() {
		t.Run(claim.name, func(t *testing.T) {
			t.Parallel()
			claim.check(newFixture(t, env.EmbeddedRedis(t)))
		})
	}
}

//nolint:tparallel // the claims share one server
func TestClaimsHoldOnARedisServer(t *testing.T) {
	t.Parallel()
	server := env.Redis(t)
	for _, claim := range claims() {
		t.Run(claim.name, func(t *testing.T) {
			f := newFixture(t, server.URL)
			env.FlushRedis(t, f.raw)
			claim.check(f)
		})
	}
}

//nolint:tparallel // a cluster takes seconds to start: the claims share one
func TestClaimsHoldOnARedisCluster(t *testing.T) {
	t.Parallel()
	cluster := env.RedisCluster(t)
	for _, claim := range claims() {
		t.Run(claim.name, func(t *testing.T) {
			f := newFixture(t, cluster.URL)
			env.FlushRedis(t, f.raw)
			claim.check(f)
		})
	}
}
