package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// Dataset is generated data. It is generated once and kept between runs.
type Dataset struct {
	// Files is the folder of the generated files, in the upstream formats.
	Files string
	// Warehouse is the data folder of the engine that the files are imported into.
	Warehouse string
	// Size is the amount of data.
	Size Size
}

// Size is an amount of generated data.
type Size struct {
	// DAOs, Proposals and Ballots are how many there are, and Largest is the number of ballots on the
	// largest proposal.
	DAOs, Proposals, Ballots, Largest int
}

// sizeOf returns the size of the full or the quick run. Both have a proposal as large
// as the one that the latency bound of cold pages is stated for.
func sizeOf(quick bool) Size {
	if quick {
		return Size{DAOs: 50, Proposals: 1000, Ballots: 1_100_000, Largest: 900_000}
	}
	return Size{DAOs: 500, Proposals: 12_500, Ballots: 5_000_000, Largest: 900_000}
}

// generatedAt is the current time as the generator sees it.
const generatedAt = "2026-06-01T00:00:00Z"

// Data returns the data set of the run. The first call generates and imports it.
func (e *Environment) Data(ctx context.Context) (*Dataset, error) {
	if e.data != nil {
		return e.data, nil
	}
	data, err := e.Generate(ctx, sizeOf(e.Quick))
	if err != nil {
		return nil, err
	}
	if err := data.load(ctx, e); err != nil {
		return nil, err
	}
	e.data = data
	return data, nil
}

// Generate generates the files of a data set without importing them.
func (e *Environment) Generate(ctx context.Context, size Size) (*Dataset, error) {
	dir := filepath.Join(e.Dir, strconv.Itoa(size.Ballots))
	data := &Dataset{Files: filepath.Join(dir, "files"), Warehouse: filepath.Join(dir, "warehouse"), Size: size}
	return data, once(data.Files, size, func() error {
		fmt.Fprintf(e.Log, "generating %d ballots\n", size.Ballots)
		_, err := e.Run(ctx, Program{Args: []string{
			e.Pnyx, "generate", "--now", generatedAt, "--daos", strconv.Itoa(size.DAOs), "--proposals", strconv.Itoa(size.Proposals),
			"--ballots", strconv.Itoa(size.Ballots), "--largest", strconv.Itoa(size.Largest), data.Files,
		}})
		return err
	})
}

// load imports the files.
func (d *Dataset) load(ctx context.Context, e *Environment) error {
	return once(d.Warehouse, d.Size, func() error {
		fmt.Fprintf(e.Log, "importing %d ballots\n", d.Size.Ballots)
		began := time.Now()
		_, err := e.Run(ctx, e.importOf(d, d.Warehouse))
		fmt.Fprintf(e.Log, "imported in %s\n", time.Since(began).Round(time.Second))
		return err
	})
}

// once calls produce unless dir was already produced for the same size.
func once(dir string, size Size, produce func() error) error {
	stamp := dir + ".json"
	wanted, err := json.Marshal(size)
	if err != nil {
		return err
	}
	if made, err := os.ReadFile(stamp); err == nil && string(made) == string(wanted) {
		return nil
	}
	if err := errors.Join(os.RemoveAll(dir), os.RemoveAll(stamp), os.MkdirAll(dir, 0o750)); err != nil {
		return fmt.Errorf("create the data folder: %w", err)
	}
	if err := produce(); err != nil {
		return err
	}
	return os.WriteFile(stamp, wanted, 0o600)
}

// importOf returns the program that imports the files of a data set into a data folder.
func (e *Environment) importOf(d *Dataset, dir string) Program {
	return Program{Args: []string{e.Pnyx, "import", "--tolerate-rejects", d.Files}, Env: []string{"PNYX_DATA=" + dir}}
}
