// Child is the smallest program that can become an engine. Tests start it in place of the service.
package main

import (
	"os"
	"path/filepath"
	"strings"

	"pnyx/warehouse/engine"
)

func main() {
	status := engine.RunChild(os.Args[2:])
	sweep(os.Args)
	os.Exit(status)
}

// sweep removes the data folder if it is marked: a shared engine ends after the tests.
func sweep(args []string) {
	for _, arg := range args {
		store, found := strings.CutPrefix(arg, "--path=")
		if !found {
			continue
		}
		dir := filepath.Dir(filepath.Dir(store))                                     // DIR/engine/store
		if _, err := os.Stat(filepath.Join(dir, "remove-with-engine")); err == nil { //nolint:gosec // the path is from our parent
			os.RemoveAll(dir) //nolint:gosec // as above; what is left is for the system to sweep up
		}
	}
}
