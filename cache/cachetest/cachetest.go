// Package cachetest gives tests a Redis.
//
// [Embedded] is the one inside the process. [RealRedis] is a redis-server of the
// test's own, which can be killed, restarted and made to hang; [RealSentinels] is a
// pair of them that Sentinels watch, and [RealCluster] a Redis Cluster. Without the program redis-server the test is skipped,
// unless PNYX_TEST_REQUIRE_REDIS is set: then it fails.
package cachetest

import (
	"context"
	"os"
	"os/exec"
	"testing"
	"time"

	"pnyx/cache"
)

// program is the server that is looked for in PATH.
const program = "redis-server"

// soon bounds every wait for a server. Nothing waits for it when all is well.
const soon = 30 * time.Second

// Embedded runs the embedded Redis until the end of tb and returns its URL.
func Embedded(tb testing.TB) string {
	tb.Helper()
	ctx, stop := context.WithCancel(context.WithoutCancel(tb.Context()))
	tb.Cleanup(stop)
	url, err := cache.StartEmbedded(ctx)
	if err != nil {
		tb.Fatal(err)
	}
	return url
}

// located is the path of the server program; without one, tb ends here.
func located(tb testing.TB) string {
	tb.Helper()
	path, err := exec.LookPath(program)
	if err == nil {
		return path
	}
	if os.Getenv("PNYX_TEST_REQUIRE_REDIS") != "" { //nolint:forbidigo // it is for tests alone
		tb.Fatal(err)
	}
	tb.Skip(err)
	return ""
}
