// Command fetch downloads the embedded ClickHouse, as pnyx engine does, before pnyx is compiled.
package main

import (
	"context"
	"fmt"
	"os"

	"pnyx/warehouse/engine"
)

func main() {
	_, err := engine.Fetch(context.Background(), engine.FetchOptions{
		Progress: func(line string) { fmt.Fprintln(os.Stderr, line) },
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, "fetch:", err)
		os.Exit(1)
	}
}
