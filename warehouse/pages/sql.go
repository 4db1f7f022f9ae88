// Package pages reads lists and details on demand: pages of proposals, ballots, voters, delegates and
// topics, the sorted copies that they are read from, and what a dossier rests on. It knows no Redis, and
// does not choose when a page is made.
package pages

import (
	"embed"

	"pnyx/warehouse"
)

//go:embed sql
var sqlFiles embed.FS

func sqlText(name string) string { return warehouse.SQLText(sqlFiles, name) }
