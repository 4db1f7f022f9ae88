package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"
)

// nodeRows measures memory and disk space after the load of all other rows.
func nodeRows() []Row {
	return []Row{
		{
			ID: "memory", Name: "API node, peak resident memory under all of the above", Unit: "MB",
			Value: AtMost(150), Rounds: 1, Quick: 1,
			Prepare: func(ctx context.Context, e *Environment) (Sides, error) {
				_, node, err := e.API(ctx)
				return Sides{Pnyx: func(context.Context) (float64, error) {
					bytes, err := node.peakMemory()
					return bytes / 1e6, err
				}}, err
			},
		},
		{
			ID: "redis-memory", Name: "Redis memory per published proposal", Unit: "KB", Rounds: 1, Quick: 1,
			Prepare: func(ctx context.Context, e *Environment) (Sides, error) {
				return Sides{Pnyx: e.redisMemory}, e.Published(ctx)
			},
		},
		{
			ID: "disk", Name: "warehouse disk space per ballot", Unit: "bytes", Rounds: 1, Quick: 1,
			Prepare: func(ctx context.Context, e *Environment) (Sides, error) {
				_, _, err := e.Warehouse(ctx)
				return Sides{Pnyx: e.disk}, err
			},
		},
	}
}

// redisMemory returns the memory of Redis per proposal, in kilobytes.
func (e *Environment) redisMemory(ctx context.Context) (float64, error) {
	info, err := e.store.Info(ctx, "memory").Result()
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(info) {
		if value, is := strings.CutPrefix(strings.TrimSpace(line), "used_memory:"); is {
			bytes, err := strconv.ParseFloat(value, 64)
			return bytes / 1e3 / float64(e.data.Size.Proposals), err
		}
	}
	return 0, fmt.Errorf("redis reports no used_memory: %.100s", info)
}

// disk returns the disk space of the warehouse's tables per ballot, in bytes.
func (e *Environment) disk(ctx context.Context) (float64, error) {
	var bytes uint64
	err := e.conn.QueryRow(ctx, "SELECT sum(bytes_on_disk) FROM system.parts WHERE active AND database = currentDatabase()").Scan(&bytes)
	return float64(bytes) / float64(e.data.Size.Ballots), err
}
