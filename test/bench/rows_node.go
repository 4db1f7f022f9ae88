package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
)

// nodeRows measures memory and disk space after the load of all other rows.
func nodeRows() []Row {
	return []Row{
		{
			ID: "memory", Name: "API node, peak resident memory under all of the above and a flood of bad requests", Unit: "MB",
			Value: AtMost(100), Rounds: 1, Quick: 1,
			Prepare: func(ctx context.Context, e *Environment) Sides {
				base, node := e.API(ctx)
				return Sides{Pnyx: func(ctx context.Context) float64 {
					flood(ctx, e, base)
					return node.peakMemory() / 1e6
				}}
			},
		},
		{
			ID: "redis-memory", Name: "Redis memory per published proposal", Unit: "KB", Rounds: 1, Quick: 1,
			Prepare: func(ctx context.Context, e *Environment) Sides {
				e.Published(ctx)
				return Sides{Pnyx: func(ctx context.Context) float64 {
					return redisMemory(ctx, e) / 1e3 / float64(e.data.Size.Proposals)
				}}
			},
		},
		{
			ID: "disk", Name: "warehouse disk space per ballot", Unit: "bytes", Rounds: 1, Quick: 1,
			Prepare: func(ctx context.Context, e *Environment) Sides {
				e.Warehouse(ctx)
				return Sides{Pnyx: func(ctx context.Context) float64 {
					return float64(diskBytes(ctx, e)) / float64(e.data.Size.Ballots)
				}}
			},
		},
	}
}

// floodScript has wrk send different requests: unknown paths, unknown ids and wrong parameters.
const floodScript = `local n = 0
request = function()
  n = n + 1
  local kinds = { "/v2/nothing-" .. n, "/v2/daos/nobody-" .. n, "/v2/daos?limit=" .. n .. "00", "/v2/daos?unknown" .. n .. "=%zz" }
  return wrk.format("GET", kinds[n % 4 + 1])
end
`

// flood sends the requests of floodScript from many connections.
func flood(ctx context.Context, e *Environment, base string) {
	script := filepath.Join(e.Dir, "flood.lua")
	mustDo(os.WriteFile(script, []byte(floodScript), 0o600))
	must(e.Run(ctx, Program{Cores: e.LoadCores, Args: []string{
		"wrk", "-t", "1", "-c", "256", "-d", "4s", "-s", script, base,
	}}))
}

func redisMemory(ctx context.Context, e *Environment) float64 {
	info := e.store.InfoMap(ctx, "memory")
	bytes, err := strconv.ParseFloat(info.Item("Memory", "used_memory"), 64)
	mustDo(errors.Join(info.Err(), err))
	return bytes
}

func diskBytes(ctx context.Context, e *Environment) (bytes uint64) {
	mustDo(e.conn.QueryRow(ctx, "SELECT sum(bytes_on_disk) FROM system.parts WHERE active AND database = currentDatabase()").Scan(&bytes))
	return bytes
}
