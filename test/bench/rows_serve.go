package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
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
			Prepare: func(ctx context.Context, e *Environment) (Sides, error) { return starting(ctx, e, "/v2/daos?limit=1") },
		},
		{
			ID: "start-all", Name: "`pnyx serve` on the data set, from its start until everything is published",
			Baseline: "the engine alone on the same data", Unit: "s", Rounds: 3, Quick: 1,
			Prepare: func(ctx context.Context, e *Environment) (Sides, error) { return starting(ctx, e, "") },
		},
	}
}

// served is a running instance.
type served struct {
	process     *Process
	base, admin string
	dir         string
}

// temporary creates a folder that is removed with the row.
func (e *Environment) temporary(name string) (string, error) {
	dir, err := os.MkdirTemp(e.Dir, name)
	e.Undo(func() error { return os.RemoveAll(dir) })
	return dir, err
}

// serve starts an instance on a folder, and waits until everything is published.
func (e *Environment) serve(ctx context.Context, dir string, flags ...string) (*served, error) {
	s, err := e.serveAt(dir, nil, flags...)
	if err != nil {
		return nil, err
	}
	e.Undo(s.process.stop)
	return s, s.process.until(ctx, func() error { return answersOK(s.admin + "/readyz") })
}

// serveAt starts an instance on a folder, with further settings.
func (e *Environment) serveAt(dir string, settings []string, flags ...string) (*served, error) {
	listen, admin, err := freeAddresses()
	if err != nil {
		return nil, err
	}
	s := &served{base: "http://" + listen, admin: "http://" + admin, dir: filepath.Join(dir, "data")}
	s.process, err = e.launch(Program{
		Name: "pnyx serve", Args: append([]string{e.Pnyx, "serve"}, flags...),
		Env: append(append(e.common(), "PNYX_LOG_LEVEL=info", "PNYX_DATA="+s.dir, "PNYX_LISTEN="+listen, "PNYX_ADMIN_LISTEN="+admin), settings...),
	})
	return s, err
}

// ownData generates a data set and imports it into a folder in which instances run.
func ownData(ctx context.Context, e *Environment, size Size) (*Dataset, error) {
	data, err := e.Generate(ctx, size)
	if err != nil {
		return nil, err
	}
	data.Warehouse = filepath.Join(filepath.Dir(data.Files), "start", "data")
	return data, data.load(ctx, e)
}

// starting measures the start of an instance on the data set until a path is answered, or until everything
// is published without a path.
func starting(ctx context.Context, e *Environment, path string) (Sides, error) {
	own, err := ownData(ctx, e, sizeOf(e.Quick))
	if err != nil {
		return Sides{}, err
	}
	return Sides{
		Pnyx: func(ctx context.Context) (float64, error) {
			began := time.Now()
			s, err := e.serveAt(filepath.Dir(own.Warehouse), nil)
			if err != nil {
				return 0, err
			}
			err = s.process.until(ctx, func() error {
				if path == "" {
					return answersOK(s.admin + "/readyz")
				}
				status, body, err := get(ctx, s.base+path, e.internal())
				if err == nil && status != http.StatusOK {
					err = fmt.Errorf("%d %s", status, body)
				}
				return err
			})
			took := time.Since(began).Seconds()
			return took, errors.Join(err, s.process.stop())
		},
		Baseline: func(ctx context.Context) (float64, error) {
			began := time.Now()
			process, err := e.launch(e.engineAt(own.Warehouse))
			if err != nil {
				return 0, err
			}
			err = process.until(ctx, func() error { _, err := engine.Find(own.Warehouse); return err })
			took := time.Since(began).Seconds()
			return took, errors.Join(err, process.stop())
		},
	}, nil
}
