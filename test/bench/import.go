package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/HdrHistogram/hdrhistogram-go"
	"golang.org/x/sync/errgroup"
)

const (
	// importedAtOnce is how many ballots are imported into a running instance, a fifth on the largest vote.
	importedAtOnce = 1_000_000
	// afterImport is how many seconds after an import an instance is still measured, and beforeImport before.
	afterImport, beforeImport = 30, 15
	// callers is how many connections send each load.
	callers = 8
)

// The loads: answers asked for before, and pages that nobody asked for, at importRates in requests a second.
const importedLoads = 2

func importRates() [importedLoads]float64 { return [...]float64{200, 10} }

// importing is one run of an instance while much is imported into it. It serves two rows and a chart.
type importing struct {
	// quiet and busy are the response times before and since, of each load.
	quiet, busy [importedLoads]*hdrhistogram.Histogram
	moments     []moment
}

type moment struct {
	// slowest are in milliseconds by load, and cores is the processor time of the instance in seconds.
	slowest [importedLoads]float64
	cores   float64
	// stored counts the ballots in the warehouse, and published the votes of published proposals.
	stored, published uint64
}

// row returns what prepares the row of a load.
func (i *importing) row(load int) func(context.Context, *Environment) Sides {
	return func(ctx context.Context, e *Environment) Sides {
		if i.moments == nil {
			if err := caught(func() { i.run(ctx, e) }); err != nil {
				*i = importing{}
				mustDo(err)
			}
		}
		p99 := func(taken *hdrhistogram.Histogram) Measure {
			return func(context.Context) float64 { return inMilliseconds(taken.ValueAtQuantile(99)) }
		}
		return Sides{Pnyx: p99(i.busy[load]), Baseline: p99(i.quiet[load])}
	}
}

// run imports into an instance that has all proposals and a few ballots.
func (i *importing) run(ctx context.Context, e *Environment) {
	few := e.Generate(ctx, Size{DAOs: 50, Proposals: 1000, Ballots: importedAtOnce / 20, Largest: importedAtOnce / 100})
	data := e.Generate(ctx, Size{DAOs: 50, Proposals: 1000, Ballots: importedAtOnce, Largest: importedAtOnce / 5})
	dir := e.temporary("import-")
	must(e.Run(ctx, e.importOf(few, filepath.Join(dir, "data"))))
	s := e.serve(ctx, dir)
	conn := connectTo(s.dir)
	defer conn.Close()
	wait(idleSettle)
	drives := importLoads(ctx, e, s.base)
	for range beforeImport {
		i.second(ctx, s, conn, drives, &i.quiet)
	}
	imported := make(chan error, 1)
	go func() { _, err := e.Run(ctx, e.importOf(data, s.dir)); imported <- err }()
	for left := afterImport; left > 0; {
		i.second(ctx, s, conn, drives, &i.busy)
		select {
		case err := <-imported:
			mustDo(err)
			fmt.Fprintf(e.Log, "  imported in %d s\n", len(i.moments)-beforeImport)
			imported = nil
		default:
			if imported == nil {
				left--
			}
		}
	}
}

// importLoads connects the loads. The pages are asked for once each.
func importLoads(ctx context.Context, e *Environment, base string) (drives [importedLoads]*drive) {
	var listed struct {
		Data []struct{ ProposalKey string }
	}
	mustDo(read(ctx, base+"/v2/proposals?limit=100", e.internal(), &listed))
	loads := [...]Load{{URLs: []string{base + "/v2/daos?limit=20", base + "/v2/meta/data-status", base + "/v2/meta/pricing"}}, {Header: e.internal()}}
	for limit := 500; limit > 400; limit-- {
		for _, p := range listed.Data {
			loads[1].URLs = append(loads[1].URLs, base+"/v2/proposals/"+p.ProposalKey+"/votes?limit="+strconv.Itoa(limit))
		}
	}
	for n, load := range loads {
		drives[n] = newDrive(load, callers)
		e.Undo(func() error { drives[n].close(); return nil })
	}
	return drives
}

// second sends the loads for a second. An answer that fails is an error.
func (i *importing) second(
	ctx context.Context, s *served, conn driver.Conn, drives [importedLoads]*drive, all *[importedLoads]*hdrhistogram.Histogram,
) {
	before := treeTime(s.process.command.Process.Pid)
	began := time.Now()
	var m moment
	group, groupCtx := errgroup.WithContext(ctx)
	for n, d := range drives {
		group.Go(func() error {
			taken, failed, err := d.run(groupCtx, importRates()[n], time.Second)
			m.slowest[n] = inMilliseconds(taken.Max())
			if all[n] == nil {
				all[n] = taken
			} else {
				all[n].Merge(taken)
			}
			if failed > 0 {
				err = errors.Join(err, fmt.Errorf("%d failed, the first with %s", failed, *d.failure.Load()))
			}
			return err
		})
	}
	err := group.Wait()
	took := time.Since(began).Seconds()
	after := treeTime(s.process.command.Process.Pid)
	for name, spent := range after {
		m.cores += (spent - before[name]) / took
	}
	counted := conn.QueryRow(ctx, "SELECT (SELECT count() FROM ballots), (SELECT toUInt64(sum(total_votes)) FROM proposal_states FINAL)").Scan(&m.stored, &m.published)
	i.moments = append(i.moments, m)
	mustDo(errors.Join(err, counted))
}

func (i *importing) markdown(out io.Writer) {
	if len(i.moments) == 0 {
		return
	}
	fmt.Fprintf(out, `## A million ballots imported into a running service

The import begins after %d seconds. Beside the answers, lines are: %[2]sslowest answer%[2]s of each second (the higher line: pages that nobody
asked for before), and %[2]sballots%[2]s in the warehouse and votes of published proposals, in thousands: where ballots are
missing, upstream states the votes.

`, beforeImport, "`")
	chart := func(axis string, of ...func(moment) float64) {
		fmt.Fprintf(out, "```mermaid\nxychart-beta\n  x-axis \"seconds\" 0 --> %d\n  y-axis %q\n", len(i.moments), axis)
		for _, of := range of {
			points := make([]string, len(i.moments))
			for n, m := range i.moments {
				points[n] = strconv.FormatFloat(of(m), 'f', 2, 64)
			}
			fmt.Fprintf(out, "  line [%s]\n", strings.Join(points, ", "))
		}
		fmt.Fprint(out, "```\n\n")
	}
	chart("cores of the service", func(m moment) float64 { return m.cores })
	chart("slowest answer, ms", func(m moment) float64 { return m.slowest[0] }, func(m moment) float64 { return m.slowest[1] })
	chart("ballots, thousands", func(m moment) float64 { return float64(m.stored) / 1000 }, func(m moment) float64 { return float64(m.published) / 1000 })
}
