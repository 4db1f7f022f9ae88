package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"time"
)

// ErrNoEngine reports that there is neither a library nor a recent clickhouse program.
var ErrNoEngine = errors.New("no ClickHouse found: " +
	`run "make engine" or "pnyx engine" to download it, or set CLICKHOUSE_URL to a server`)

var errStatic = errors.New("this pnyx is a static program and cannot load a library: " +
	"set CLICKHOUSE_URL to a server")

// The minimum version of ClickHouse, as program and as server: the version of the library, which is
// tested.
const (
	minYear  = 26
	minMonth = 7
)

// CheckVersion returns an error for a version of ClickHouse before the minimum.
func CheckVersion(year, month int) error {
	if year < minYear || year == minYear && month < minMonth {
		return fmt.Errorf("ClickHouse %d.%d; want at least %d.%d", year, month, minYear, minMonth)
	}
	return nil
}

// versionTimeout bounds the run of clickhouse --version, which maps half a gigabyte.
const versionTimeout = 5 * time.Second

// Program is the program to run as the engine.
type Program struct {
	// Library is the path of libchdb.
	Library string
	// Digest is the SHA-256 that the library must have when it is loaded, in hexadecimal.
	// It is empty for a library that the operator names, who answers for it.
	Digest string
	// ClickHouse is the path of a clickhouse program. It applies if Library is empty.
	ClickHouse string
}

// LocateOptions configure Locate. The zero value is valid.
type LocateOptions struct {
	// Library is the path of a library. If it is set, Locate considers nothing else.
	Library string

	// CacheDir is FetchOptions.CacheDir.
	CacheDir string
}

// Locate returns the program to run: the library in options, else the library that Fetch
// has downloaded, else a clickhouse of at least 26.7 on the PATH. The error is
// [ErrNoEngine] if there is none.
func Locate(ctx context.Context, options LocateOptions) (Program, error) {
	if options.Library != "" && !loadsLibraries {
		return Program{}, errStatic
	}
	if options.Library != "" {
		path, err := filepath.Abs(options.Library)
		if err != nil {
			return Program{}, fmt.Errorf("resolve engine library: %w", err)
		}
		program := Program{Library: path}
		return program, program.check()
	}
	if program, ok := cached(options.CacheDir); ok && loadsLibraries {
		return program, nil
	}
	path, err := exec.LookPath("clickhouse")
	if err != nil {
		return Program{}, ErrNoEngine
	}
	if err := checkVersion(ctx, path); err != nil {
		return Program{}, fmt.Errorf("%w (%w)", ErrNoEngine, err)
	}
	return Program{ClickHouse: path}, nil
}

// cached returns the library that Fetch has downloaded.
func cached(cacheDir string) (Program, bool) {
	pkg, err := platformPackage()
	if err != nil {
		return Program{}, false
	}
	if cacheDir, err = cachePath(cacheDir); err != nil {
		return Program{}, false
	}
	return pkg.cached(cacheDir)
}

// check returns an error unless the program is a regular file.
func (p Program) check() error {
	path := cmp.Or(p.Library, p.ClickHouse)
	if path == "" {
		return errors.New("start engine: Options.Program is empty: use Locate")
	}
	info, err := os.Stat(path)
	if err != nil {
		return fmt.Errorf("engine library: %w", err)
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("engine library: %s is not a regular file", path)
	}
	return nil
}

func (p Program) childArgs() (kind, path string) {
	switch {
	case p.Library != "" && p.Digest != "":
		return kindLibrary + ":" + p.Digest, p.Library
	case p.Library != "":
		return kindLibrary, p.Library
	}
	return kindProgram, p.ClickHouse
}

// checkVersion returns an error if a clickhouse program is too old.
func checkVersion(ctx context.Context, path string) error {
	ctx, cancel := context.WithTimeout(ctx, versionTimeout)
	defer cancel()
	output, err := exec.CommandContext(ctx, path, "local", "--version").Output()
	if err != nil {
		return fmt.Errorf("run %s local --version: %w", path, err)
	}
	year, month, err := parseVersion(string(output))
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if err := CheckVersion(year, month); err != nil {
		return fmt.Errorf("%s is %w", path, err)
	}
	return nil
}

// parseVersion returns the first two numbers of a version such as
// "ClickHouse local version 26.7.2.1 (official build).".
func parseVersion(output string) (year, month int, err error) {
	match := regexp.MustCompile(`version (\d{1,4})\.(\d{1,4})\.`).FindStringSubmatch(output)
	if match == nil {
		return 0, 0, fmt.Errorf("no version in %q", output)
	}
	year, errYear := strconv.Atoi(match[1])
	month, errMonth := strconv.Atoi(match[2])
	return year, month, errors.Join(errYear, errMonth)
}
