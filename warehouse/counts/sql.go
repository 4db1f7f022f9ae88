// Package counts holds what a publication computes from records: sums of votes, rankings,
// participation, the states of proposals and topics, and the log of changes.
package counts

import (
	"embed"

	"pnyx/warehouse"
)

//go:embed sql
var sqlFiles embed.FS

func sqlText(name string) string { return warehouse.SQLText(sqlFiles, name) }
