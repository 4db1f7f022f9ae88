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
	// Files is the folder of the generated files, and Warehouse the folder of the engine they are imported into.
	Files, Warehouse string
	Size             Size
}

// Size is an amount of generated data.
type Size struct {
	// Largest is the number of ballots on the largest proposal.
	DAOs, Proposals, Ballots, Largest int
}

// sizeOf returns the size of a run. The latency of cold pages is stated for its largest proposal.
func sizeOf(quick bool) Size {
	if quick {
		return Size{DAOs: 50, Proposals: 1000, Ballots: 1_100_000, Largest: 900_000}
	}
	return Size{DAOs: 500, Proposals: 12_500, Ballots: 5_000_000, Largest: 900_000}
}

// generatedAt is the current time as the generator sees it.
const generatedAt = "2026-06-01T00:00:00Z"

// Data returns the data set of the run. The first call generates and imports it.
func (e *Environment) Data(ctx context.Context) *Dataset {
	if e.data != nil {
		return e.data
	}
	data := e.Generate(ctx, sizeOf(e.Quick))
	data.load(ctx, e)
	e.data = data
	return data
}

// Generate generates the files of a data set without importing them.
func (e *Environment) Generate(ctx context.Context, size Size) *Dataset {
	dir := filepath.Join(e.Dir, strconv.Itoa(size.Ballots))
	data := &Dataset{Files: filepath.Join(dir, "files"), Warehouse: filepath.Join(dir, "warehouse"), Size: size}
	once(data.Files, size, func() {
		fmt.Fprintf(e.Log, "generating %d ballots\n", size.Ballots)
		must(e.Run(ctx, Program{Args: []string{
			e.Pnyx, "generate", "--now", generatedAt, "--daos", strconv.Itoa(size.DAOs), "--proposals", strconv.Itoa(size.Proposals),
			"--ballots", strconv.Itoa(size.Ballots), "--largest", strconv.Itoa(size.Largest), data.Files,
		}}))
	})
	return data
}

func (d *Dataset) load(ctx context.Context, e *Environment) {
	once(d.Warehouse, d.Size, func() {
		fmt.Fprintf(e.Log, "importing %d ballots\n", d.Size.Ballots)
		began := time.Now()
		must(e.Run(ctx, e.importOf(d, d.Warehouse)))
		fmt.Fprintf(e.Log, "imported in %s\n", time.Since(began).Round(time.Second))
	})
}

// once calls produce unless dir was already produced for the same size.
func once(dir string, size Size, produce func()) {
	stamp := dir + ".json"
	wanted := must(json.Marshal(size))
	if made, err := os.ReadFile(stamp); err == nil && string(made) == string(wanted) {
		return
	}
	mustDo(errors.Join(os.RemoveAll(dir), os.RemoveAll(stamp), os.MkdirAll(dir, 0o750)))
	produce()
	mustDo(os.WriteFile(stamp, wanted, 0o600))
}

// importOf returns the program that imports the files of a data set into a data folder.
func (e *Environment) importOf(d *Dataset, dir string) Program {
	return Program{Args: []string{e.Pnyx, "import", "--tolerate-rejects", d.Files}, Env: []string{"PNYX_DATA=" + dir}}
}
