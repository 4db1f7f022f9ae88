package warehouse

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"

	"pnyx/backoff"
)

const (
	// archivePollInterval is the time between two looks at a BACKUP or RESTORE.
	archivePollInterval = 200 * time.Millisecond
	// archiveStopTimeout bounds how long a cancelled BACKUP or RESTORE may take to end.
	archiveStopTimeout = time.Minute
	// snapshotSuffix ends the name of the database that a backup copies.
	snapshotSuffix = "_snapshot"
)

// ErrBackupRunning reports that the warehouse is being backed up already.
var ErrBackupRunning = errors.New("another backup of this warehouse is being made")

// Archive backs up and restores the tables of a warehouse, shard by shard. Unlike a
// Warehouse it does not migrate the schema. It is not safe for concurrent use.
//
// A backup copies a snapshot: a database of the same tables, made of hard links to their
// parts. It stays as it is while imports go on, so that what is counted is what is copied.
type Archive struct {
	warehouse *Warehouse
	// nodes are the addresses of the shards.
	nodes  [][]string
	shards []connection
}

// TableContent describes the rows of a table.
type TableContent struct {
	Name string `json:"name" ch:"name"`
	// Rows is the number of rows, replaced ones included.
	Rows uint64 `json:"rows" ch:"rows"`
	// Checksum is the sum of the hashes of all rows; it does not depend on their order.
	Checksum uint64 `json:"checksum,string" ch:"checksum"`
}

// Location is where a shard's part of a backup is: a folder of the server's machine or, with
// a URL, a prefix of an S3 bucket.
type Location struct {
	Path string
	// URL is the address of the prefix; KeyID and Secret are the key that opens it.
	URL, KeyID, Secret string
}

// sql returns the location as BACKUP and RESTORE name it. The server masks the secret in its logs.
func (l Location) sql() string {
	if l.URL == "" {
		return "File(" + quoteLiteral(l.Path) + ")"
	}
	return "S3(" + quoteLiteral(l.URL) + ", " + quoteLiteral(l.KeyID) + ", " + quoteLiteral(l.Secret) + ")"
}

// OpenArchive connects to every shard. o.QueryTimeout bounds each statement.
func OpenArchive(ctx context.Context, o Options) (*Archive, error) {
	o.MaxRows = 0 // counting a snapshot reads all of it
	options, err := connectOptions(o)
	if err != nil {
		return nil, err
	}
	// A snapshot shares its data with the tables, so dropping it loses nothing.
	options.Settings["max_table_size_to_drop"] = 0
	a := &Archive{warehouse: &Warehouse{options: options, cluster: o.Cluster}}
	a.warehouse.Conn.maxExecutionTime = o.QueryTimeout
	err = Retry(ctx, o.Wait, o.Logger, func() error { return a.connect(ctx) })
	return a, err
}

func (a *Archive) connect(ctx context.Context) error {
	nodes, err := a.warehouse.nodes(ctx)
	if err != nil {
		return err
	}
	for _, node := range nodes {
		conn, err := a.warehouse.connect(ctx, node, "")
		if err != nil {
			return errors.Join(err, a.Close())
		}
		a.shards = append(a.shards, connection{Conn: conn, maxExecutionTime: a.warehouse.QueryTimeout()})
	}
	a.nodes = nodes
	return nil
}

// Close closes the connections.
func (a *Archive) Close() error {
	var problems []error
	for _, shard := range a.shards {
		problems = append(problems, shard.Close())
	}
	a.shards = nil
	return errors.Join(problems...)
}

// Shards returns the number of shards.
func (a *Archive) Shards() int { return len(a.shards) }

// Database returns the name of the warehouse's database.
func (a *Archive) Database() string { return a.warehouse.options.Auth.Database }

// SnapshotDatabase returns the name of the database that a backup contains.
func (a *Archive) SnapshotDatabase() string { return a.Database() + snapshotSuffix }

// Contents counts the rows of all tables of a database on one shard.
func (a *Archive) Contents(ctx context.Context, shard int, database string) ([]TableContent, error) {
	names, err := a.tables(ctx, shard, database)
	contents := make([]TableContent, len(names))
	for i, name := range names {
		contents[i].Name = name
		// A tuple, because the hash of arguments with a NULL among them is NULL.
		sql := "SELECT count(), sum(cityHash64(tuple(*))) FROM " + QuoteIdentifier(database) + "." + QuoteIdentifier(name)
		if err := a.shards[shard].QueryRow(ctx, sql).Scan(&contents[i].Rows, &contents[i].Checksum); err != nil {
			return nil, fmt.Errorf("count table %s: %w", name, err)
		}
	}
	return contents, err
}

// tables returns the names of a database's tables with rows of their own: no views, no distributed tables.
func (a *Archive) tables(ctx context.Context, shard int, database string) ([]string, error) {
	const sql = "SELECT name FROM system.tables WHERE database = ? AND endsWith(engine, 'MergeTree') ORDER BY name"
	rows, err := a.shards[shard].Query(ctx, sql, database)
	return selectRows[string](rows, err, "list tables of "+database)
}

// Snapshot makes the snapshot of every shard in place of one that was left behind. It
// returns ErrBackupRunning while a snapshot is being copied. Drop ends it.
func (a *Archive) Snapshot(ctx context.Context) error {
	for shard := range a.shards {
		if err := a.makeSnapshot(ctx, shard); err != nil {
			return fmt.Errorf("make a snapshot: %w", explainArchive(err))
		}
	}
	return nil
}

func (a *Archive) makeSnapshot(ctx context.Context, shard int) error {
	names, err := a.tables(ctx, shard, a.Database())
	if err != nil {
		return err
	}
	if len(names) == 0 {
		return fmt.Errorf("database %s has no tables: nothing to back up", a.Database())
	}
	running, err := a.isCopied(ctx, shard)
	if err != nil {
		return err
	}
	if running {
		return fmt.Errorf("%w: wait until it ends", ErrBackupRunning)
	}
	// A snapshot that nothing copies was left behind by a process that was killed.
	snapshot := QuoteIdentifier(a.SnapshotDatabase())
	statements := []string{"DROP DATABASE IF EXISTS " + snapshot + " SYNC", "CREATE DATABASE " + snapshot}
	names = slices.DeleteFunc(names, isMadeFromBallots)
	slices.SortStableFunc(names, func(a, b string) int { return snapshotOrder(a) - snapshotOrder(b) })
	for _, name := range names {
		table := snapshot + "." + QuoteIdentifier(name)
		statements = append(statements,
			"CREATE TABLE "+table+" AS "+QuoteIdentifier(a.Database())+"."+QuoteIdentifier(name),
			"SYSTEM STOP MERGES "+table)
	}
	// The tables follow each other as closely as possible.
	for _, name := range names {
		statements = append(statements, "ALTER TABLE "+snapshot+"."+QuoteIdentifier(name)+
			" ATTACH PARTITION ALL FROM "+QuoteIdentifier(a.Database())+"."+QuoteIdentifier(name))
	}
	return a.run(ctx, shard, statements...)
}

// isMadeFromBallots reports whether workers make a table again from the ballots: sorted copies, stored sums.
func isMadeFromBallots(table string) bool {
	return slices.Contains([]string{
		"sorted_ballots", "sorted_voters", "sorted_copies", "ordered_ballots", "ranked_voters", "orders", "vote_totals", "participation",
	}, strings.TrimSuffix(table, localSuffix))
}

// snapshotOrder orders the tables of a snapshot that is made during an import. Tables that state that something is
// complete come first: the others contain all of it then. The journal of batches comes last: it names all records
// before it, if only as rows of an open batch, which a worker publishes as after an import that was killed.
func snapshotOrder(table string) int {
	switch strings.TrimSuffix(table, localSuffix) {
	case "syncs", "feed_progress", "ballot_gaps":
		return 0
	case "batches":
		return 2
	}
	return 1
}

// isCopied reports whether a statement or a BACKUP works on a snapshot.
func (a *Archive) isCopied(ctx context.Context, shard int) (bool, error) {
	const sql = `SELECT (SELECT count() FROM system.backups WHERE status = 'CREATING_BACKUP') +
		(SELECT count() FROM system.processes WHERE position(query, ?) > 0 AND query_id != queryID())`
	var running uint64
	err := a.shards[shard].QueryRow(ctx, sql, QuoteIdentifier(a.SnapshotDatabase())).Scan(&running)
	return running > 0, err
}

// SnapshotBytes returns the size of the snapshot of one shard.
func (a *Archive) SnapshotBytes(ctx context.Context, shard int) (size uint64, err error) {
	const sql = "SELECT sum(bytes_on_disk) FROM system.parts WHERE active AND database = ?"
	err = a.shards[shard].QueryRow(ctx, sql, a.SnapshotDatabase()).Scan(&size)
	return size, err
}

// Drop drops a database on every shard, also after ctx has ended.
func (a *Archive) Drop(ctx context.Context, database string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), archiveStopTimeout)
	defer cancel()
	var problems []error
	for shard := range a.shards {
		problems = append(problems, a.run(ctx, shard, "DROP DATABASE IF EXISTS "+QuoteIdentifier(database)+" SYNC"))
	}
	return errors.Join(problems...)
}

// Backup copies a shard's snapshot, without the files in base, nil for a full backup. It calls progress now and
// then.
func (a *Archive) Backup(ctx context.Context, shard int, to Location, base *Location, progress func(ctx context.Context)) error {
	sql := "BACKUP DATABASE " + QuoteIdentifier(a.SnapshotDatabase()) + " TO " + to.sql()
	if base != nil {
		sql += " SETTINGS base_backup = " + base.sql()
	}
	return a.await(ctx, shard, sql, func(ctx context.Context, _, _ uint64) { progress(ctx) })
}

// NoteRestore prepares a restored database for Adopt: it records the restore, and that the schema lacks the
// views. Whoever opens the warehouse makes them, also where the restore is broken off after Adopt.
func (a *Archive) NoteRestore(ctx context.Context, database, kind, name string, rows, bytes uint64) error {
	statements, err := migrations(migrationFiles)
	if err != nil {
		return err
	}
	in := QuoteIdentifier(database) + "."
	for shard := range a.shards {
		if err := a.switchMerges(ctx, shard, database, "START"); err != nil {
			return err
		}
		// The fingerprint is hexadecimal and needs no escaping.
		if err := a.run(ctx, shard, "ALTER TABLE "+in+"schema_migrations DELETE WHERE fingerprint = '"+
			a.warehouse.schemaFingerprint(statements)+"' SETTINGS mutations_sync = 1"); err != nil {
			return err
		}
	}
	table := in + QuoteIdentifier(a.localName(statement{table: "backups", shardBy: "name"}))
	return a.shards[0].Exec(ctx, "INSERT INTO "+table+" (kind, name, row_count, bytes) SELECT ?, ?, ?, ?", kind, name, rows, bytes)
}

// Adopt makes a restored database of one shard the warehouse's, in place of the one that is there.
func (a *Archive) Adopt(ctx context.Context, shard int, database string) error {
	return a.run(ctx, shard,
		"DROP DATABASE IF EXISTS "+QuoteIdentifier(a.Database())+" SYNC",
		"RENAME DATABASE "+QuoteIdentifier(database)+" TO "+QuoteIdentifier(a.Database()))
}

// Occupied lists the tables of one shard that have rows, apart from what every start writes.
func (a *Archive) Occupied(ctx context.Context, shard int) ([]string, error) {
	const sql = `SELECT concat(name, ' ', toString(total_rows)) FROM system.tables
		WHERE database = ? AND total_rows > 0 AND name NOT IN (
			'schema_migrations', 'schema_migrations_local', 'signing_keys', 'signing_keys_local') AND endsWith(engine, 'MergeTree')
		ORDER BY total_rows DESC`
	rows, err := a.shards[shard].Query(ctx, sql, a.Database())
	return selectRows[string](rows, err, "list tables with rows")
}

func (a *Archive) switchMerges(ctx context.Context, shard int, database, how string) error {
	names, err := a.tables(ctx, shard, database)
	for _, name := range names {
		err = errors.Join(err, a.run(ctx, shard, "SYSTEM "+how+" MERGES "+QuoteIdentifier(database)+"."+QuoteIdentifier(name)))
	}
	return err
}

func (a *Archive) run(ctx context.Context, shard int, statements ...string) error {
	for _, statement := range statements {
		if err := a.shards[shard].Exec(ctx, statement); err != nil {
			return err
		}
	}
	return nil
}

// await runs a BACKUP or RESTORE, and cancels it when ctx ends.
func (a *Archive) await(ctx context.Context, shard int, sql string, progress func(ctx context.Context, done, total uint64)) error {
	conn := a.shards[shard]
	var id, status string
	if err := conn.QueryRow(ctx, sql+" ASYNC").Scan(&id, &status); err != nil {
		return explainArchive(err)
	}
	poll := context.WithoutCancel(ctx)
	for done := ctx.Done(); ; {
		var queryID, problem string
		var read, total uint64
		const look = "SELECT toString(status), error, query_id, bytes_read, total_size FROM system.backups WHERE id = ?"
		if err := conn.QueryRow(poll, look, id).Scan(&status, &problem, &queryID, &read, &total); err != nil {
			return errors.Join(ctx.Err(), fmt.Errorf("look at the progress: %w", err))
		}
		switch status {
		case "BACKUP_CREATED", "RESTORED":
			return nil
		case "CREATING_BACKUP", "RESTORING":
			progress(poll, read, total)
		default:
			problem, _, _ = strings.Cut(problem, ", Stack trace")
			return errors.Join(ctx.Err(), explainArchive(errors.New(problem)))
		}
		if stopped := backoff.Await(poll, archivePollInterval, done); stopped {
			done = nil
			limited, cancel := context.WithTimeout(poll, archiveStopTimeout)
			defer cancel() // once: done is nil from here on
			poll = limited //nolint:fatcontext // once, as above
			if err := conn.Exec(poll, "KILL QUERY WHERE query_id = ? ASYNC", queryID); err != nil {
				return errors.Join(ctx.Err(), err)
			}
		}
	}
}

// explainArchive adds to an error of the server what its operator can do about it.
func explainArchive(err error) error {
	var exception *clickhouse.Exception
	text := err.Error()
	switch {
	case errors.As(err, &exception) && exception.Code == accessDenied || strings.Contains(text, "ACCESS_DENIED"):
		return fmt.Errorf("%w: the user of CLICKHOUSE_URL needs the rights BACKUP, CREATE DATABASE, CREATE TABLE, "+
			"DROP, SELECT, INSERT, ALTER and SYSTEM MERGES", err)
	case strings.Contains(text, "BACKUP_ALREADY_EXISTS"): // its own lock, which a full disk does not hold, is another's
		return fmt.Errorf("%w: make room at the destination, unless another process writes there", err)
	case strings.Contains(text, "allowed_path") || strings.Contains(text, "not allowed for backups"):
		return fmt.Errorf("%w: allow the folder in the server's configuration, "+
			"<backups><allowed_path>FOLDER</allowed_path></backups>, or use s3://BUCKET/PREFIX", err)
	}
	return err
}

// quoteLiteral returns text as a string literal of SQL: BACKUP and RESTORE accept no bound values.
func quoteLiteral(text string) string {
	return "'" + strings.NewReplacer("\\", "\\\\", "'", "\\'").Replace(text) + "'"
}
