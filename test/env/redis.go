package env

import (
	"context"
	"testing"
	"time"

	"pnyx/cache/embedded"
)

// program is the name of the server, which must be in PATH.
const program = "redis-server"

// soon bounds every wait for a server. Nothing waits for it when all is well.
const soon = time.Minute

// EmbeddedRedis runs the embedded Redis until the end of tb and returns its URL.
func EmbeddedRedis(tb testing.TB) string {
	tb.Helper()
	ctx, stop := context.WithCancel(context.WithoutCancel(tb.Context()))
	tb.Cleanup(stop)
	return Must(embedded.StartInProcess(ctx))(tb)
}

// OnEachRedis runs a subtest on the embedded Redis, and one on a server.
func OnEachRedis(t *testing.T, test func(t *testing.T, url string)) {
	t.Helper()
	for name, start := range map[string]func(testing.TB) string{
		"embedded Redis": EmbeddedRedis, "Redis server": func(tb testing.TB) string { tb.Helper(); return Redis(tb).URL },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, start(t))
		})
	}
}

// redisServerPath is the path of the server program; without one, and under -short, tb ends.
func redisServerPath(tb testing.TB) string {
	tb.Helper()
	return Program(tb, program, "PNYX_TEST_REQUIRE_REDIS")
}
