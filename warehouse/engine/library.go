//go:build !static

package engine

import (
	"errors"
	"fmt"
	"runtime"
	"unsafe"

	"github.com/ebitengine/purego"
)

// loadsLibraries says whether this program can run the library. What loads
// libraries is linked to the C library of its system, and so is not static.
const loadsLibraries = true

// runLibrary loads libchdb and hands it the arguments of clickhouse local. It
// returns when the queries among them have ended.
func runLibrary(path string, args []string) error {
	library, err := purego.Dlopen(path, purego.RTLD_NOW|purego.RTLD_GLOBAL)
	if err != nil {
		return fmt.Errorf("load engine library: %w", err)
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
	result := query(int32(len(args)), unsafe.Pointer(&argv[0])) //nolint:gosec // a handful of arguments, for C

	if result == 0 {
		return errors.New("the engine ended without a result")
	}
	if text := resultError(result); text != "" {
		return errors.New(text)
	}
	// Some errors are only printed. Then the pipe is still open.
	if !parentGone(0) {
		return errors.New("the engine ended by itself")
	}
	return nil
}

// cStrings makes the argv of a C program.
func cStrings(pinner *runtime.Pinner, args []string) []*byte {
	argv := make([]*byte, len(args)+1)
	pinner.Pin(&argv[0])
	for i, arg := range args {
		argv[i] = &append([]byte(arg), 0)[0]
		pinner.Pin(argv[i])
	}
	return argv
}
