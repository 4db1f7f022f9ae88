package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

const (
	// idleSettle is how long a new instance may finish what its start has begun, such as
	// merges, before it counts as idle.
	idleSettle = 30 * time.Second
	// idleLength is how long an idle instance is measured.
	idleLength = time.Minute
	// ticksPerSecond is the unit of the times in /proc: USER_HZ, which is 100 on Linux.
	ticksPerSecond = 100
)

// idleRows measures an instance that nobody uses.
func idleRows() []Row {
	return []Row{{
		ID: "idle", Name: "`pnyx serve` idle, engine and Redis included", Unit: "% of a core",
		Value: AtMost(3), Rounds: 1, Quick: 1, Prepare: idleServe,
	}}
}

// idleServe starts a complete instance with the demonstration data.
func idleServe(ctx context.Context, e *Environment) (Sides, error) {
	dir, err := e.temporary("idle-")
	if err != nil {
		return Sides{}, err
	}
	served, err := e.serve(ctx, dir, "--demo")
	if err != nil {
		return Sides{}, err
	}
	wait(idleSettle)
	return Sides{Pnyx: func(context.Context) (float64, error) {
		before, err := treeTicks(served.process.command.Process.Pid)
		if err != nil {
			return 0, err
		}
		began := time.Now()
		wait(idleLength)
		after, err := treeTicks(served.process.command.Process.Pid)
		seconds := time.Since(began).Seconds()
		var total float64
		for name, ticks := range after {
			share := 100 * (ticks - before[name]) / ticksPerSecond / seconds
			fmt.Fprintf(e.Log, "  %s: %.2f %%\n", name, share)
			total += share
		}
		return total, errors.Join(err, answersOK(served.admin+"/readyz"))
	}}, nil
}

// treeTicks returns the processor time of a process and its children so far, in ticks, by
// name and id.
func treeTicks(pid int) (map[string]float64, error) {
	ids := []string{strconv.Itoa(pid)}
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	if err != nil {
		return nil, err
	}
	for _, thread := range threads {
		children, err := os.ReadFile(thread)
		if err != nil {
			return nil, fmt.Errorf("list the children of the instance: %w", err)
		}
		ids = append(ids, strings.Fields(string(children))...)
	}
	ticks := map[string]float64{}
	for _, id := range ids {
		text, err := os.ReadFile("/proc/" + id + "/stat") //nolint:gosec // the id of a process
		if err != nil {
			return nil, fmt.Errorf("processor time of the instance: %w", err)
		}
		name, rest, _ := strings.Cut(string(text), ") ")
		fields := strings.Fields(rest)
		if len(fields) < 13 {
			return nil, fmt.Errorf("/proc/%s/stat has %d fields", id, len(fields))
		}
		user, err := strconv.ParseFloat(fields[11], 64)
		system, failed := strconv.ParseFloat(fields[12], 64)
		if err := errors.Join(err, failed); err != nil {
			return nil, fmt.Errorf("processor time of the instance: %w", err)
		}
		_, name, _ = strings.Cut(name, "(")
		ticks[name+" "+id] = user + system
	}
	return ticks, nil
}
