// Command pnyx is a read-only HTTP API over DAO governance: the warehouse, the worker
// that publishes from it, the nodes that serve the API, and the tools to fill and query
// the warehouse.
package main

import (
	"os"

	"pnyx/cmd"
	"pnyx/warehouse/engine"
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == engine.ChildCommand {
		os.Exit(engine.RunChild(os.Args[2:]))
	}
	os.Exit(cmd.Execute())
}
