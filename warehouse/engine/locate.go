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

// ErrNoEngine says that neither the library nor a recent clickhouse is at hand.
var ErrNoEngine = errors.New("there is no ClickHouse to run: " +
	`run "make engine" or "pnyx engine" to fetch it, or set CLICKHOUSE_URL to a server`)

// errStatic says why a library is of no use to this program.
var errStatic = errors.New("this pnyx is a static one, which cannot load a library: set CLICKHOUSE_URL to a server")

// Oldest clickhouse that can do it: from 26.6 on, SYSTEM START LISTEN works in
// clickhouse local. Asked for is what the library has, which is what is tested.
const (
	minProgramYear  = 26
	minProgramMonth = 7
)

// versionTimeout bounds asking a program for its version. It maps half a gigabyte.
const versionTimeout = 5 * time.Second

// Program is what to run as the engine: a library or, when that is empty, a
// clickhouse program.
type Program struct {
	Library    string // path of libchdb
	ClickHouse string // path of a clickhouse that knows the command local
}

// LocateOptions says where to look.
type LocateOptions struct {
	// Library is the path that the user has set, if any: then nothing else will do.
	Library string

	// CacheDir is where Fetch keeps the library. Empty means its default.
	CacheDir string
}

// Locate finds what to run: the library that was asked for, or the library that
// Fetch has brought, or a clickhouse of at least 26.7 on the PATH. The error is
// [ErrNoEngine] when there is none of them.
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
	if path, ok := cached(options.CacheDir); ok && loadsLibraries {
		return Program{Library: path}, nil
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

// cached is the library in the cache of Fetch, if it is there and whole.
func cached(cacheDir string) (string, bool) {
	pkg, err := platformPackage()
	if err != nil {
		return "", false
	}
	if cacheDir, err = cachePath(cacheDir); err != nil {
		return "", false
	}
	return pkg.cached(cacheDir)
}

// check reports a program that is not there.
func (p Program) check() error {
	path := cmp.Or(p.Library, p.ClickHouse)
	if path == "" {
		return errors.New("engine options: no program")
	}
	info, err := os.Stat(path)
	if err != nil {
		return fmt.Errorf("engine library: %w", err)
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("engine library: %s is not a file", path)
	}
	return nil
}

// childArgs is how RunChild is told of the program.
func (p Program) childArgs() (kind, path string) {
	if p.Library != "" {
		return kindLibrary, p.Library
	}
	return kindProgram, p.ClickHouse
}

// checkVersion asks a clickhouse program how old it is.
func checkVersion(ctx context.Context, path string) error {
	ctx, cancel := context.WithTimeout(ctx, versionTimeout)
	defer cancel()
	said, err := exec.CommandContext(ctx, path, "local", "--version").Output()
	if err != nil {
		return fmt.Errorf("ask %s for its version: %w", path, err)
	}
	year, month, err := parseVersion(string(said))
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if year < minProgramYear || year == minProgramYear && month < minProgramMonth {
		return fmt.Errorf("%s is ClickHouse %d.%d, and %d.%d is needed",
			path, year, month, minProgramYear, minProgramMonth)
	}
	return nil
}

// parseVersion reads the first two numbers out of what clickhouse prints, which
// is "ClickHouse local version 26.7.2.1 (official build)." or the like.
func parseVersion(said string) (year, month int, err error) {
	match := regexp.MustCompile(`version (\d{1,4})\.(\d{1,4})\.`).FindStringSubmatch(said)
	if match == nil {
		return 0, 0, fmt.Errorf("no version in %q", said)
	}
	year, errYear := strconv.Atoi(match[1])
	month, errMonth := strconv.Atoi(match[2])
	return year, month, errors.Join(errYear, errMonth)
}
