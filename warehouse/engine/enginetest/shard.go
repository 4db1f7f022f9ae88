package enginetest

import (
	"strconv"
	"testing"

	"pnyx/porttest"
	"pnyx/warehouse/engine"
)

// Shard is one of two engines that know each other as the shards of the cluster
// [engine.ClusterName].
type Shard struct {
	// DataDir is the folder that it owns.
	DataDir string

	tb      testing.TB
	options engine.Options
	running *engine.Engine
}

// Shards runs both until the end of tb. It skips the test when there is no engine.
func Shards(tb testing.TB) (shards [2]*Shard) {
	tb.Helper()
	var addresses []string
	for n := range shards {
		port := porttest.Free(tb)
		addresses = append(addresses, "127.0.0.1:"+port)
		options := Options(tb)
		options.Password = "between-shards"
		number, err := strconv.Atoi(port)
		if err != nil {
			tb.Fatal(err)
		}
		options.TCPPort = number
		shards[n] = &Shard{DataDir: options.DataDir, tb: tb, options: options}
	}
	for _, s := range shards {
		s.options.Shards = addresses
		s.Start()
		tb.Cleanup(s.Stop)
	}
	return shards
}

// Instance is how the shard is reached, the same in each of its lives.
func (s *Shard) Instance() engine.Instance { return s.running.Instance() }

// Stop ends the shard, which keeps what it holds for the next Start.
func (s *Shard) Stop() { stop(s.tb, s.running) }

// Start runs the shard again after a Stop.
func (s *Shard) Start() {
	s.tb.Helper()
	running, err := engine.Start(s.tb.Context(), s.options)
	if err != nil {
		s.tb.Fatal(err)
	}
	s.running = running
}
