package main

import (
	"context"
	"fmt"
	"time"

	"github.com/prometheus/procfs"
)

const (
	// idleSettle is how long a new instance may finish what its start has begun, such as merges.
	idleSettle = 30 * time.Second
	idleLength = time.Minute
)

func idleRows() []Row {
	return []Row{{
		ID: "idle", Name: "`pnyx serve` idle, engine and Redis included", Unit: "% of a core",
		Value: AtMost(3), Rounds: 1, Quick: 1, Prepare: idleServe,
	}}
}

// idleServe starts a complete instance with the demonstration data.
func idleServe(ctx context.Context, e *Environment) Sides {
	served := e.serve(ctx, e.temporary("idle-"), "--demo")
	wait(idleSettle)
	return Sides{Pnyx: func(ctx context.Context) float64 {
		before := treeTime(served.process.command.Process.Pid)
		began := time.Now()
		wait(idleLength)
		after := treeTime(served.process.command.Process.Pid)
		seconds := time.Since(began).Seconds()
		var total float64
		for name, spent := range after {
			share := 100 * (spent - before[name]) / seconds
			fmt.Fprintf(e.Log, "  %s: %.2f %%\n", name, share)
			total += share
		}
		mustDo(answersOK(ctx, served.admin+"/readyz"))
		return total
	}}
}

// treeTime returns the processor seconds of a process and its children so far, by name and id.
func treeTime(pid int) map[string]float64 {
	times := map[string]float64{}
	for _, process := range must(procfs.AllProcs()) {
		stat, err := process.Stat()
		if err == nil && (stat.PID == pid || stat.PPID == pid) { // another one may have ended
			times[fmt.Sprint(stat.Comm, " ", stat.PID)] = stat.CPUTime()
		}
	}
	if len(times) == 0 {
		mustDo(fmt.Errorf("processor time of the instance: no process %d", pid))
	}
	return times
}
