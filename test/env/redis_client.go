package env

import (
	"context"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"
	"go.uber.org/goleak"

	"pnyx/cache"
)

// RedisClient returns a client, until the end of tb, for what a cache.Store does not do.
func RedisClient(tb testing.TB, url string) redis.UniversalClient {
	tb.Helper()
	client := Must(cache.NewClient(url))(tb)
	tb.Cleanup(func() { client.Close() })
	return client
}

// Store opens the Redis at a URL until the end of tb.
func Store(tb testing.TB, url string) *cache.Store {
	tb.Helper()
	store := Must(cache.Open(url, soon))(tb)
	tb.Cleanup(func() { store.Close() })
	return store
}

// FlushRedis empties the Redis behind a client.
func FlushRedis(tb testing.TB, client redis.UniversalClient) {
	tb.Helper()
	var err error
	if cluster, is := client.(*redis.ClusterClient); is {
		err = cluster.ForEachMaster(tb.Context(), func(ctx context.Context, node *redis.Client) error {
			return node.FlushAll(ctx).Err()
		})
	} else {
		err = client.FlushAll(tb.Context()).Err()
	}
	MustDo(tb, err)
}

// QuietRedis keeps the client of the process from printing every connection that breaks, for a TestMain.
func QuietRedis() {
	logging.Disable()
}

// RedisLeftover is a goroutine of a closed client that looks for a server, for up to a second: no leak.
func RedisLeftover() goleak.Option {
	return goleak.IgnoreAnyFunction("github.com/redis/go-redis/v9/internal/pool.(*ConnPool).tryDial")
}
