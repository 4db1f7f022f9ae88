//go:build static

package engine

// loadsLibraries is false: a static program cannot load a library.
const loadsLibraries = false

func runLibrary(string, string, []string) error { return errStatic }
