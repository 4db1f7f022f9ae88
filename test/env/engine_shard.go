package env

import (
	"strconv"
	"testing"

	"pnyx/warehouse/engine"
)

// EngineShard is one of two engines that are the shards of the cluster [engine.ClusterName].
type EngineShard struct {
	// DataDir is the folder that it owns.
	DataDir string

	tb      testing.TB
	options engine.Options
	running *engine.Engine
}

// EngineShards runs both until the end of tb. It skips the test when there is no engine.
func EngineShards(tb testing.TB) (shards [2]*EngineShard) {
	tb.Helper()
	var addresses []string
	for n := range shards {
		port := Free(tb)
		addresses = append(addresses, "127.0.0.1:"+port)
		options := EngineOptions(tb)
		options.Password = "between-shards"
		options.TCPPort = Must(strconv.Atoi(port))(tb)
		shards[n] = &EngineShard{DataDir: options.DataDir, tb: tb, options: options}
	}
	for _, s := range shards {
		s.options.Shards = addresses
		s.Start()
		tb.Cleanup(s.Stop)
	}
	return shards
}

// Instance is how the shard is reached, the same in each of its lives.
func (s *EngineShard) Instance() engine.Instance { return s.running.Instance() }

// Stop ends the shard, which keeps what it holds for the next Start.
func (s *EngineShard) Stop() { stop(s.tb, s.running) }

// Start runs the shard again after a Stop.
func (s *EngineShard) Start() {
	s.tb.Helper()
	s.running = Must(engine.Start(s.tb.Context(), s.options))(s.tb)
}
