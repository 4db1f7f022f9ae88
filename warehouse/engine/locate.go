package engine

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// ErrNoEngine reports that there is no library.
var ErrNoEngine = errors.New("no ClickHouse found: " +
	`run "make engine" or "pnyx engine" to download it, or set CLICKHOUSE_URL to a server`)

var errStatic = errors.New("this pnyx is a static program and cannot load a library: " +
	"set CLICKHOUSE_URL to a server")

// The minimum version of a ClickHouse server: the version of the library, which is tested.
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

// Program is the program to run as the engine.
type Program struct {
	Library string // the path of libchdb
	// Digest is the SHA-256 that the library must have when it is loaded, in hexadecimal.
	// It is empty for a library that the operator names, who answers for it.
	Digest string
}

// LocateOptions configure Locate. The zero value is valid.
type LocateOptions struct {
	// Library is the path of a library. If it is set, Locate considers nothing else.
	Library  string
	CacheDir string
}

// Locate returns the library in options, or else the downloaded one, or [ErrNoEngine].
func Locate(options LocateOptions) (Program, error) {
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
	return Program{}, ErrNoEngine
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
	if p.Library == "" {
		return errors.New("start engine: Options.Program is empty: use Locate")
	}
	info, err := os.Stat(p.Library)
	if err != nil {
		return fmt.Errorf("engine library: %w", err)
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("engine library: %s is not a regular file", p.Library)
	}
	return nil
}
