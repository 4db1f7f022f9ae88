// Package records holds what imports and followers write, and reads it back as it was written: the
// records of each kind, the journal of batches, the cursors and logs of followers. [Append] writes a
// record once however often it is repeated; a publisher reads [CommittedBatches].
package records

import (
	"embed"

	"pnyx/warehouse"
)

//go:embed sql
var sqlFiles embed.FS

func sqlText(name string) string { return warehouse.SQLText(sqlFiles, name) }
