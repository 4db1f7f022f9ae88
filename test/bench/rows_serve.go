package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"time"

	"pnyx/warehouse/engine"
)

// serveRows measures a whole instance: callers while much is imported, and its start.
func serveRows(importing *importing) []Row {
	return []Row{
		{
			ID: "import-hot", Name: "hot answers while a million ballots are imported into `pnyx serve`, and half a minute after: p99",
			Baseline: "the same before", Unit: "ms", Value: AtMost(30), Rounds: 1, Quick: 1, Prepare: importing.row(0),
		},
		{
			ID: "import-cold", Name: "pages that nobody asked for before, meanwhile: p99",
			Baseline: "the same before", Unit: "ms", Value: AtMost(150), Rounds: 1, Quick: 1, Prepare: importing.row(1),
		},
		{
			ID: "start-first", Name: "`pnyx serve` on the data set, from its start to the first right answer",
			Baseline: "the engine alone on the same data", Unit: "s", Value: AtMost(2), Rounds: 3, Quick: 1,
			Prepare: func(ctx context.Context, e *Environment) Sides { return starting(ctx, e, "/v2/daos?limit=1") },
		},
		{
			ID: "start-all", Name: "`pnyx serve` on the data set, from its start until everything is published",
			Baseline: "the engine alone on the same data", Unit: "s", Rounds: 3, Quick: 1,
			Prepare: func(ctx context.Context, e *Environment) Sides { return starting(ctx, e, "") },
		},
	}
}

type served struct {
	process     *Process
	base, admin string
	dir         string
}

// temporary creates a folder that is removed with the row.
func (e *Environment) temporary(name string) string {
	dir := must(os.MkdirTemp(e.Dir, name))
	e.Undo(func() error { return os.RemoveAll(dir) })
	return dir
}

// serve starts an instance on a folder, and waits until everything is published.
func (e *Environment) serve(ctx context.Context, dir string, flags ...string) *served {
	s := e.serveAt(dir, nil, flags...)
	e.Undo(s.process.stop)
	mustDo(s.process.until(ctx, func() error { return answersOK(ctx, s.admin+"/readyz") }))
	return s
}

// serveAt starts an instance on a folder, with further settings.
func (e *Environment) serveAt(dir string, settings []string, flags ...string) *served {
	listen, admin := freeAddresses()
	s := &served{base: "http://" + listen, admin: "http://" + admin, dir: filepath.Join(dir, "data")}
	s.process = e.launch(Program{
		Name: "pnyx serve", Args: append([]string{e.Pnyx, "serve"}, flags...),
		Env: append(append(e.common(), "PNYX_LOG_LEVEL=info", "PNYX_DATA="+s.dir, "PNYX_LISTEN="+listen, "PNYX_ADMIN_LISTEN="+admin), settings...),
	})
	return s
}

// ownData generates a data set and imports it into a folder in which instances run.
func ownData(ctx context.Context, e *Environment, size Size) *Dataset {
	data := e.Generate(ctx, size)
	data.Warehouse = filepath.Join(filepath.Dir(data.Files), "start", "data")
	data.load(ctx, e)
	return data
}

// starting measures the start of an instance until a path is answered, or without one all is published.
func starting(ctx context.Context, e *Environment, path string) Sides {
	own := ownData(ctx, e, sizeOf(e.Quick))
	return Sides{
		Pnyx: func(ctx context.Context) float64 {
			began := time.Now()
			s := e.serveAt(filepath.Dir(own.Warehouse), nil)
			return timeUntil(ctx, began, s.process, func() error {
				if path == "" {
					return answersOK(ctx, s.admin+"/readyz")
				}
				_, err := fetch(ctx, s.base+path, e.internal())
				return err
			})
		},
		Baseline: func(ctx context.Context) float64 {
			return timeUntil(ctx, time.Now(), e.launch(e.engineAt(own.Warehouse)), func() error { _, err := engine.Find(own.Warehouse); return err })
		},
	}
}

// timeUntil returns the seconds from the start of a process until check succeeds, and stops it.
func timeUntil(ctx context.Context, began time.Time, process *Process, check func() error) float64 {
	err := process.until(ctx, check)
	took := time.Since(began).Seconds()
	mustDo(errors.Join(err, process.stop()))
	return took
}
