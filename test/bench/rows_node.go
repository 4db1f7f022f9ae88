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
			ID: "memory", Name: "API node, most memory resident under all of the above", Unit: "MB",
			Value: AtMost(150), Rounds: 1, Quick: 1,
			Prepare: func(ctx context.Context, w *World) (Sides, error) {
				_, node, err := w.API(ctx)
				return Sides{Ours: func(context.Context) (float64, error) {
					bytes, err := node.peakMemory()
					return bytes / 1e6, err
				}}, err
			},
		},
		{
			ID: "redis-memory", Name: "Redis, memory for everything published, a proposal", Unit: "KB", Rounds: 1, Quick: 1,
			Prepare: func(ctx context.Context, w *World) (Sides, error) {
				return Sides{Ours: w.redisMemory}, w.Published(ctx)
			},
		},
		{
			ID: "disk", Name: "warehouse, disk for everything, a ballot", Unit: "bytes", Rounds: 1, Quick: 1,
			Prepare: func(ctx context.Context, w *World) (Sides, error) {
				_, _, err := w.Warehouse(ctx)
				return Sides{Ours: w.disk}, err
			},
		},
	}
}

// redisMemory returns the memory of Redis per proposal, in kilobytes.
func (w *World) redisMemory(ctx context.Context) (float64, error) {
	info, err := w.store.Info(ctx, "memory").Result()
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(info) {
		if value, is := strings.CutPrefix(strings.TrimSpace(line), "used_memory:"); is {
			bytes, err := strconv.ParseFloat(value, 64)
			return bytes / 1e3 / float64(w.data.Size.Proposals), err
		}
	}
	return 0, fmt.Errorf("redis does not tell its memory: %.100s", info)
}

// disk returns the disk space of the warehouse's tables per ballot, in bytes.
func (w *World) disk(ctx context.Context) (float64, error) {
	var bytes uint64
	err := w.conn.QueryRow(ctx, "SELECT sum(bytes_on_disk) FROM system.parts WHERE active AND database = currentDatabase()").Scan(&bytes)
	return float64(bytes) / float64(w.data.Size.Ballots), err
}
