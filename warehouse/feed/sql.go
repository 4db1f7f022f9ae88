// Package feed holds the rows of events and signals, and reads what they are made from.
package feed

import (
	"embed"

	"pnyx/warehouse"
)

//go:embed sql
var sqlFiles embed.FS

func sqlText(name string) string { return warehouse.SQLText(sqlFiles, name) }
