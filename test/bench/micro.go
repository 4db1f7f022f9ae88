package main

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// microPackages returns the packages with benchmarks of single functions.
func microPackages() []string {
	return []string{"./governance", "./cache", "./access", "./api"}
}

// Micro is the result of one Go benchmark.
type Micro struct {
	// Package is the package of the benchmark.
	Package string
	// Name is the name of the benchmark without the prefix Benchmark.
	Name string
	// Nanoseconds is the time per operation.
	Nanoseconds float64
	// Bytes is the memory allocated per operation.
	Bytes int64
	// Allocations is the number of allocations per operation.
	Allocations int64
}

var microLine = regexp.MustCompile(`^Benchmark(\S+?)(?:-\d+)?\s+\d+\s+([0-9.]+) ns/op(?:.*?\s(\d+) B/op\s+(\d+) allocs/op)?`)

// runMicro runs the benchmarks of functions in the module at root.
func (e *Environment) runMicro(ctx context.Context, root string) ([]Micro, error) {
	length := "500ms"
	if e.Quick {
		length = "50ms"
	}
	args := append([]string{"go", "-C", root, "test", "-run", "^$", "-bench", ".", "-benchmem", "-benchtime", length}, microPackages()...)
	text, err := e.Run(ctx, Program{Args: args})
	if err != nil {
		return nil, err
	}
	return readMicro(text), nil
}

// readMicro parses the output of go test -bench.
func readMicro(text string) []Micro {
	var all []Micro
	var pkg string
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if name, is := strings.CutPrefix(line, "pkg: pnyx/"); is {
			pkg = name
		}
		found := microLine.FindStringSubmatch(line)
		if found == nil {
			continue
		}
		m := Micro{Package: pkg, Name: found[1]}
		m.Nanoseconds, _ = strconv.ParseFloat(found[2], 64) // the expression lets only numbers through
		m.Bytes, _ = strconv.ParseInt(found[3], 10, 64)
		m.Allocations, _ = strconv.ParseInt(found[4], 10, 64)
		all = append(all, m)
	}
	return all
}

// duration formats the time per operation for the report.
func (m Micro) duration() string {
	if m.Nanoseconds >= 10_000 {
		return fmt.Sprintf("%.1f µs", m.Nanoseconds/1000)
	}
	return fmt.Sprintf("%.0f ns", m.Nanoseconds)
}
