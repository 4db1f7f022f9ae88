// Package recount_test computes the expected answers from upstream's own files, in exact
// decimals and by the written rules alone, and compares them with the answers of a running
// service. The computation uses no code of the service.
//
// PNYX_TEST_REAL_DATA names a folder of real upstream data. Without it, the tests of real
// data are skipped, and the others use generated data.
package recount_test

import (
	"testing"

	"pnyx/test/env"
)

func TestMain(m *testing.M) { env.Main(m) }

const (
	goodSpace    = `{"id":"a.eth","name":"A","network":"1","symbol":"A"}`
	goodProposal = `{"id":"0xp","space":{"id":"a.eth"},"author":"0xA","type":"single-choice","title":"T","choices":["For","Against"],"state":"closed"}`
)

// realData is the folder of real upstream data; without one the test is skipped.
func realData(t *testing.T) string {
	t.Helper()
	env.RequireEngine(t)
	return env.RealData(t)
}

// startEmpty runs a service over an empty warehouse, and waits until it is ready.
func startEmpty(t *testing.T) *env.Pnyx {
	t.Helper()
	env.RequireEngine(t)
	p := env.StartPnyx(t, t.TempDir(), nil, "serve")
	p.AwaitReady()
	return p
}

// startShared is startEmpty on a database in the engine that the tests of generated data share.
func startShared(t *testing.T) *env.Pnyx {
	t.Helper()
	env.RequireEngine(t)
	p := env.StartPnyx(t, t.TempDir(), []string{"CLICKHOUSE_URL=" + env.DatabaseURL(t)}, "serve")
	p.AwaitReady()
	return p
}

// concurrently runs jobs with the concurrency at which the service fills pages.
func concurrently(t *testing.T, jobs []func() error) {
	t.Helper()
	env.Concurrently(t, env.FillConcurrency, len(jobs), func(n int) error { return jobs[n]() })
}
