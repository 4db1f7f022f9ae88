package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"pnyx/warehouse/engine"
)

const (
	// importedAtOnce is how many ballots are imported into a running instance, the largest vote
	// having a fifth of them.
	importedAtOnce = 1_000_000
	// afterImport is how long after an import an instance is still measured.
	afterImport = 30 * time.Second
	// hotRate and coldRate are the rates of requests meanwhile, in requests per second.
	hotRate, coldRate = 200, 10
	// callers is how many connections send them.
	callers = 8
)

// serveRows measures a whole instance: callers while much is imported, and its start.
func serveRows() []Row {
	return []Row{
		{
			ID: "import-hot", Name: "hot answers while a million ballots are imported into `pnyx serve`, and half a minute after: p99",
			Baseline: "the same before", Unit: "ms", Value: AtMost(30), Rounds: 1, Quick: 1,
			Prepare: func(ctx context.Context, e *Environment) (Sides, error) {
				return whileImporting(ctx, e, hotRate, askedAgain)
			},
		},
		{
			ID: "import-cold", Name: "pages that nobody asked for before, meanwhile: p99",
			Baseline: "the same before", Unit: "ms", Value: AtMost(150), Rounds: 1, Quick: 1,
			Prepare: func(ctx context.Context, e *Environment) (Sides, error) {
				return whileImporting(ctx, e, coldRate, unaskedPages)
			},
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

// askedAgain are free answers, asked for again and again.
func askedAgain(context.Context, *Environment, string) (Load, error) {
	return Load{URLs: []string{"/v2/daos?limit=20", "/v2/meta/data-status", "/v2/meta/pricing"}}, nil
}

// unaskedPages are pages of ballots, each asked for once.
func unaskedPages(ctx context.Context, e *Environment, base string) (Load, error) {
	_, text, err := get(ctx, base+"/v2/proposals?limit=100", e.internal())
	var listed struct {
		Data []struct{ ProposalKey string }
	}
	if err := errors.Join(err, json.Unmarshal(text, &listed)); err != nil {
		return Load{}, fmt.Errorf("list proposals: %w", err)
	}
	load := Load{Header: e.internal()}
	for limit := 500; limit > 400; limit-- {
		for _, p := range listed.Data {
			load.URLs = append(load.URLs, "/v2/proposals/"+p.ProposalKey+"/votes?limit="+strconv.Itoa(limit))
		}
	}
	return load, nil
}

// whileImporting compares answers of an instance while much is imported into it, on the proposals that it
// has, with answers before.
func whileImporting(
	ctx context.Context, e *Environment, rate float64, loadOf func(context.Context, *Environment, string) (Load, error),
) (Sides, error) {
	few, errFew := e.Generate(ctx, Size{DAOs: 50, Proposals: 1000, Ballots: importedAtOnce / 20, Largest: importedAtOnce / 100})
	data, errData := e.Generate(ctx, Size{DAOs: 50, Proposals: 1000, Ballots: importedAtOnce, Largest: importedAtOnce / 5})
	dir, err := e.temporary("import-")
	if err := errors.Join(errFew, errData, err); err != nil {
		return Sides{}, err
	}
	_, err = e.Run(ctx, e.importOf(few, filepath.Join(dir, "data")))
	if err != nil {
		return Sides{}, err
	}
	s, err := e.serve(ctx, dir)
	if err != nil {
		return Sides{}, err
	}
	load, err := loadOf(ctx, e, s.base)
	if err != nil {
		return Sides{}, err
	}
	for i := range load.URLs {
		load.URLs[i] = s.base + load.URLs[i]
	}
	wait(idleSettle)
	drive, err := newDrive(load, callers)
	if err != nil {
		return Sides{}, err
	}
	e.Undo(func() error { drive.close(); return nil })
	quiet, err := p99(ctx, e, drive, rate, func() error { wait(idleSettle / 2); return nil })
	if err != nil {
		return Sides{}, err
	}
	return Sides{
		Pnyx: func(ctx context.Context) (float64, error) {
			return p99(ctx, e, drive, rate, func() error {
				began := time.Now()
				_, err := e.Run(ctx, e.importOf(data, s.dir))
				fmt.Fprintf(e.Log, "  imported in %s\n", time.Since(began).Round(time.Second))
				wait(afterImport)
				return err
			})
		},
		Baseline: func(context.Context) (float64, error) { return quiet, nil },
	}, nil
}

// p99 returns the 99th percentile of answers while something goes on, in milliseconds. An answer that
// fails is an error.
func p99(ctx context.Context, e *Environment, d *drive, rate float64, meanwhile func() error) (float64, error) {
	loaded, stop := context.WithCancel(ctx)
	defer stop()
	done := make(chan error, 1)
	go func() { done <- meanwhile(); stop() }()
	taken, failed, err := d.run(loaded, rate, time.Hour)
	if errors.Is(err, context.Canceled) {
		err = <-done
	}
	fmt.Fprintf(e.Log, "  %d answers: p50 %.2f, p99 %.2f, slowest %.2f ms\n", taken.TotalCount(),
		inMilliseconds(taken.ValueAtQuantile(50)), inMilliseconds(taken.ValueAtQuantile(99)), inMilliseconds(taken.Max()))
	if failed > 0 {
		err = errors.Join(err, fmt.Errorf("%d failed, the first with %s", failed, *d.failure.Load()))
	}
	return inMilliseconds(taken.ValueAtQuantile(99)), err
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
