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
			Prepare: func(ctx context.Context, e *Environment) (Sides, error) {
				base, node, err := e.API(ctx)
				return Sides{Pnyx: func(ctx context.Context) (float64, error) {
					if err := (nodeMeter{e}).flood(ctx, base); err != nil {
						return 0, err
					}
					bytes, err := node.peakMemory()
					return bytes / 1e6, err
				}}, err
			},
		},
		{
			ID: "redis-memory", Name: "Redis memory per published proposal", Unit: "KB", Rounds: 1, Quick: 1,
			Prepare: func(ctx context.Context, e *Environment) (Sides, error) {
				return Sides{Pnyx: func(ctx context.Context) (float64, error) {
					bytes, err := nodeMeter{e}.redisMemory(ctx)
					return bytes / 1e3 / float64(e.data.Size.Proposals), err
				}}, e.Published(ctx)
			},
		},
		{
			ID: "disk", Name: "warehouse disk space per ballot", Unit: "bytes", Rounds: 1, Quick: 1,
			Prepare: func(ctx context.Context, e *Environment) (Sides, error) {
				_, _, err := e.Warehouse(ctx)
				return Sides{Pnyx: func(ctx context.Context) (float64, error) {
					bytes, err := nodeMeter{e}.diskBytes(ctx)
					return float64(bytes) / float64(e.data.Size.Ballots), err
				}}, err
			},
		},
	}
}

// floodScript has wrk send requests that no two of which are equal: unknown paths, unknown
// ids and parameters that are wrong.
const floodScript = `local n = 0
request = function()
  n = n + 1
  local kinds = { "/v2/nothing-" .. n, "/v2/daos/nobody-" .. n, "/v2/daos?limit=" .. n .. "00", "/v2/daos?unknown" .. n .. "=%zz" }
  return wrk.format("GET", kinds[n % 4 + 1])
end
`

// nodeMeter measures what a node takes.
type nodeMeter struct{ *Environment }

// flood sends the requests of floodScript from many connections.
func (e nodeMeter) flood(ctx context.Context, base string) error {
	script := filepath.Join(e.Dir, "flood.lua")
	if err := os.WriteFile(script, []byte(floodScript), 0o600); err != nil {
		return err
	}
	_, err := e.Run(ctx, Program{Cores: e.LoadCores, Args: []string{
		"wrk", "-t", "1", "-c", "256", "-d", "4s", "-s", script, base,
	}})
	return err
}

// redisMemory returns the memory of Redis, in bytes.
func (e nodeMeter) redisMemory(ctx context.Context) (float64, error) {
	info := e.store.InfoMap(ctx, "memory")
	bytes, err := strconv.ParseFloat(info.Item("Memory", "used_memory"), 64)
	return bytes, errors.Join(info.Err(), err)
}

// diskBytes returns the disk space of the warehouse's tables.
func (e nodeMeter) diskBytes(ctx context.Context) (bytes uint64, err error) {
	err = e.conn.QueryRow(ctx, "SELECT sum(bytes_on_disk) FROM system.parts WHERE active AND database = currentDatabase()").Scan(&bytes)
	return bytes, err
}
