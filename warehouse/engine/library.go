//go:build !static

package engine

import (
	"errors"
	"fmt"
	"runtime"
	"unsafe"

	"github.com/ebitengine/purego"
)

// loadsLibraries is true of a program with the system's C library, which loading needs.
const loadsLibraries = true

// runLibrary loads libchdb, which must have a SHA-256 unless that is empty, and calls it with the
// arguments of clickhouse local. It returns when the queries in the arguments have ended.
func runLibrary(path, digest string, args []string) error {
	file, err := openLibrary(path, digest)
	if err != nil {
		return err
	}
	defer file.Close()
	library, err := purego.Dlopen(loadPath(file), purego.RTLD_NOW|purego.RTLD_GLOBAL)
	if err != nil {
		return fmt.Errorf("load engine library %s: %w", path, err)
	}
	var query func(argc int32, argv unsafe.Pointer) uintptr
	var resultError func(result uintptr) string
	for name, function := range map[string]any{
		"chdb_query_cmdline": &query,
		"chdb_result_error":  &resultError,
	} {
		symbol, err := purego.Dlsym(library, name)
		if err != nil {
			return fmt.Errorf("engine library %s: %w", path, err)
		}
		purego.RegisterFunc(function, symbol)
	}

	args = append([]string{"clickhouse"}, args...)
	var pinner runtime.Pinner
	defer pinner.Unpin()
	argv := cStrings(&pinner, args)
	//nolint:gosec // a few arguments for a C function
	result := query(int32(len(args)), unsafe.Pointer(&argv[0]))

	if parentGone(0) {
		return nil
	}
	if result == 0 {
		return errors.New("engine ended without a result")
	}
	if text := resultError(result); text != "" {
		return errors.New(text)
	}
	// The library only prints some errors.
	return errors.New("engine ended before its parent closed the pipe")
}

// cStrings returns args as the argv of a C program, pinned in memory.
func cStrings(pinner *runtime.Pinner, args []string) []*byte {
	argv := make([]*byte, len(args)+1)
	pinner.Pin(&argv[0])
	for i, arg := range args {
		argv[i] = &append([]byte(arg), 0)[0]
		pinner.Pin(argv[i])
	}
	return argv
}
