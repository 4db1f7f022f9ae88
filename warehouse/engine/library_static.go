//go:build static

package engine

// loadsLibraries says that a static program has nothing to load a library with.
const loadsLibraries = false

func runLibrary(string, []string) error {
	return errStatic
}
