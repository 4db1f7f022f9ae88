package warehouse

import (
	"context"
	"io/fs"
)

// MigrateWith runs at most limit statements of files, in place of the migrations of this
// version, on every node.
func MigrateWith(ctx context.Context, o Options, files fs.FS, limit int) error {
	options, err := connectOptions(o)
	if err != nil {
		return err
	}
	w := &Warehouse{options: options, cluster: o.Cluster}
	statements, err := migrations(files)
	if err != nil {
		return err
	}
	nodes, err := w.nodes(ctx)
	if err != nil {
		return err
	}
	for _, node := range nodes {
		if err := w.runStatements(ctx, node, statements[:min(limit, len(statements))]); err != nil {
			return err
		}
	}
	return nil
}

// MigrationFiles are the migrations of this version.
var MigrationFiles fs.FS = migrationFiles

// EarlierFiles are the tables of 0.1.0.
var EarlierFiles fs.FS = earlierFiles

// CopyAnswer copies an answer of the HTTP interface; see copyAnswer.
var CopyAnswer = copyAnswer

// HoldConnection keeps a connection busy until release.
func (w *Warehouse) HoldConnection(ctx context.Context) (release func() error, err error) {
	rows, err := w.Conn.Query(ctx, "SELECT number FROM numbers(1000000)") //nolint:sqlclosecheck // release closes it
	if err != nil {
		return nil, err
	}
	return rows.Close, nil
}

// ServerThreads returns how many threads a statement with the context uses.
var ServerThreads = (*Warehouse).serverThreads

// IsYielding reports whether a statement has its turn.
func (w *Warehouse) IsYielding() bool { return len(w.Conn.turns.taken) > 0 }

// IsLocal reports whether all servers are on this machine.
var IsLocal = isLocal
