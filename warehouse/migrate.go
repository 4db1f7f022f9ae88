package warehouse

import (
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strings"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"pnyx/warehouse/engine"
)

//go:embed migrations/*.sql views/*.sql
var migrationFiles embed.FS

// statement is one statement of a migration. It is idempotent: two processes may run it concurrently, and an
// interrupted migration runs again. Migrations only add, so that the previous version keeps working: a table gets
// a new name as a new table, and a column keeps its name.
type statement struct {
	file string // the migration that contains it, for error messages
	text string // without comments
	// table and shardBy are set for a statement about a sharded table. In a cluster it
	// applies to the local table of each shard and to the distributed table.
	table   string
	shardBy string
	// onlyIf names the table of a previous version whose rows are copied. Without it the statement is skipped.
	onlyIf string
}

// tableStatement matches a statement that creates, alters or fills a table.
var tableStatement = regexp.MustCompile(
	`(?s)^(CREATE TABLE IF NOT EXISTS|ALTER TABLE|INSERT INTO)\s+(\w+)`)

// oldestSchema is the number of the last migration of the earliest version that works on this
// schema. It is raised by the migration that removes what that version reads.
const oldestSchema = 0

// Migrate creates the database and runs every migration on each node, whether or not it
// ran before. Nodes are migrated one after the other: ON CLUSTER would need a Keeper. The
// schema of a later version stays as it is, and so do the views that it has replaced.
func (w *Warehouse) Migrate(ctx context.Context) error {
	return w.migrate(ctx, schemaCurrent)
}

// MigrateRestored is Migrate for a warehouse restored from a backup, which has no views: this version's are made,
// also where a later one has changed the tables before.
func (w *Warehouse) MigrateRestored(ctx context.Context) error {
	return w.migrate(ctx, schemaLater)
}

// migrate runs every migration on the nodes whose schema is in the state most, or in one before it.
func (w *Warehouse) migrate(ctx context.Context, most schemaState) error {
	statements, err := migrations(migrationFiles)
	if err != nil {
		return err
	}
	nodes, err := w.nodes(ctx)
	if err != nil {
		return classifyError(err)
	}
	number, err := SchemaVersion()
	if err != nil {
		return err
	}
	applied := appliedSchema{
		Fingerprint: w.schemaFingerprint(statements), Number: uint32(number), Oldest: oldestSchema, //nolint:gosec // a small number
	}
	for _, node := range nodes {
		state, err := w.schemaState(ctx, node, applied)
		if err != nil {
			return err
		}
		if state > most {
			continue
		}
		// The fingerprint is hexadecimal and needs no escaping.
		noted := statement{file: "schema_migrations", text: fmt.Sprintf("INSERT INTO schema_migrations (fingerprint, number, oldest) VALUES ('%s', %d, %d)",
			applied.Fingerprint, applied.Number, applied.Oldest)}
		if err := w.runStatements(ctx, node, append(slices.Clip(statements), noted)); err != nil {
			return explainDenied(classifyError(err))
		}
	}
	return nil
}

// appliedSchema is a row of schema_migrations.
type appliedSchema struct {
	Fingerprint string
	// Number is SchemaVersion, and Oldest is oldestSchema, of the version that ran them.
	Number, Oldest uint32
}

// accessDenied is the ClickHouse error code ACCESS_DENIED.
const accessDenied = 497

// errSchemaOutdated reports a schema that is missing or belongs to another version.
var errSchemaOutdated = errors.New("the warehouse has the schema of another version")

// errSchemaTooNew reports the schema of a version that has removed what this one reads.
var errSchemaTooNew = errors.New("the warehouse has the schema of a later version, and this version would answer wrongly from it: " +
	"run the later version, or restore a backup of before the upgrade into another warehouse")

// explainDenied tells a user without the right to change the schema how to proceed.
func explainDenied(err error) error {
	var exception *clickhouse.Exception
	if errors.As(err, &exception) && exception.Code == accessDenied {
		return fmt.Errorf("%w: run pnyx migrate as a user who may change it: %w", errSchemaOutdated, err)
	}
	return err
}

// schemaFingerprint returns a hash of all statements as they run on a node.
func (w *Warehouse) schemaFingerprint(statements []statement) string {
	hash := sha256.New()
	for _, s := range statements {
		for _, text := range w.shardStatements(s) {
			fmt.Fprintln(hash, text)
		}
	}
	return hex.EncodeToString(hash.Sum(nil))
}

// schemaState says what a version finds on a node. The states are in an order, see migrate.
type schemaState int

const (
	// schemaMissing is no schema, or an earlier version's, which may have come back after
	// this one and replaced views.
	schemaMissing schemaState = iota
	schemaCurrent
	// schemaLater is the schema of a later version, with which this version works.
	schemaLater
)

// errServerTooOld reports a server before the minimum version.
var errServerTooOld = errors.New("the ClickHouse server of CLICKHOUSE_URL is too old, upgrade it")

// checkServer returns errServerTooOld for a server before the minimum version.
func checkServer(conn driver.Conn, addresses []string) error {
	server, err := conn.ServerVersion()
	if err != nil {
		return fmt.Errorf("%w at %v: %w", ErrUnreachable, addresses, err)
	}
	//nolint:gosec // small numbers
	if err := engine.CheckVersion(int(server.Version.Major), int(server.Version.Minor)); err != nil {
		return fmt.Errorf("%w: %v is %w", errServerTooOld, addresses, err)
	}
	return nil
}

// schemaState returns the state of a node. It is schemaMissing when it cannot tell: the
// migration then fails with the cause. The error is errSchemaTooNew or errServerTooOld.
func (w *Warehouse) schemaState(ctx context.Context, addresses []string, own appliedSchema) (schemaState, error) {
	// The database may not exist yet, so the connection names none.
	conn, err := w.connect(ctx, addresses, "")
	if err != nil {
		return schemaMissing, nil
	}
	defer conn.Close()
	if err := checkServer(conn, addresses); err != nil {
		return schemaMissing, err
	}
	var newest, oldest uint32
	var current bool
	table := QuoteIdentifier(w.options.Auth.Database) + ".schema_migrations"
	err = conn.QueryRow(ctx, "SELECT max(number), max(oldest), "+
		"countIf(fingerprint = ?) > 0 AND maxIf(applied_at, fingerprint = ?) >= maxIf(applied_at, number < ?) FROM "+table,
		own.Fingerprint, own.Fingerprint, own.Number).Scan(&newest, &oldest, &current)
	switch {
	case err != nil:
		return schemaMissing, nil
	case oldest > own.Number:
		return schemaMissing, fmt.Errorf("%w (schema %d, oldest that works with it %d, this version %d)",
			errSchemaTooNew, newest, oldest, own.Number)
	case newest > own.Number:
		return schemaLater, nil
	case current:
		return schemaCurrent, nil
	}
	return schemaMissing, nil
}

func (w *Warehouse) runStatements(ctx context.Context, addresses []string, statements []statement) error {
	database := w.options.Auth.Database
	if err := w.createDatabases(ctx, addresses, database, ViewsDatabase(database)); err != nil {
		return err
	}
	node, err := w.connect(ctx, addresses, database)
	if err != nil {
		return err
	}
	defer node.Close()
	for _, s := range statements {
		if err := w.runStatement(ctx, node, s); err != nil {
			return fmt.Errorf("migration %s: %w", s.file, err)
		}
	}
	return nil
}

// createDatabases creates databases over a connection that names none.
func (w *Warehouse) createDatabases(ctx context.Context, addresses []string, names ...string) error {
	node, err := w.connect(ctx, addresses, "")
	if err != nil {
		return err
	}
	defer node.Close()
	for _, name := range names {
		if err := node.Exec(ctx, "CREATE DATABASE IF NOT EXISTS "+QuoteIdentifier(name)); err != nil {
			return fmt.Errorf("create database %s: %w", name, err)
		}
	}
	return nil
}

// runStatement runs one statement on one node, unless the table it depends on is missing.
func (w *Warehouse) runStatement(ctx context.Context, node driver.Conn, s statement) error {
	if s.onlyIf != "" {
		exists, err := w.tableExists(ctx, node, s.onlyIf)
		if err != nil || !exists {
			return err
		}
	}
	for _, text := range w.shardStatements(s) {
		if err := node.Exec(ctx, text); err != nil {
			return err
		}
	}
	return nil
}

// migrations returns every statement of the files in order of their names: migrations, then views.
func migrations(files fs.FS) ([]statement, error) {
	names, err := fs.Glob(files, "*/*.sql")
	if err != nil {
		return nil, fmt.Errorf("list migrations: %w", err)
	}
	slices.Sort(names)
	var statements []statement
	for _, name := range names {
		text, err := fs.ReadFile(files, name)
		if err != nil {
			return nil, fmt.Errorf("read migration: %w", err)
		}
		for part := range strings.SplitSeq(string(text), ";\n") {
			if s := parseStatement(name, part); s.text != "" {
				statements = append(statements, s)
			}
		}
	}
	return statements, nil
}

// parseStatement removes the comments of a statement and reads two of them: the sharding key from
// "-- shard by: <expression>", and the table that a copy reads from "-- where exists: <table>".
func parseStatement(file, part string) statement {
	s := statement{file: file}
	var code []string
	for line := range strings.Lines(part) {
		if comment, found := strings.CutPrefix(strings.TrimSpace(line), "--"); found {
			if key, found := strings.CutPrefix(strings.TrimSpace(comment), "shard by: "); found {
				s.shardBy = key
			}
			if table, found := strings.CutPrefix(strings.TrimSpace(comment), "where exists: "); found {
				s.onlyIf = table
			}
			continue
		}
		code = append(code, line)
	}
	s.text = strings.TrimSpace(strings.Join(code, ""))
	if match := tableStatement.FindStringSubmatch(s.text); match != nil {
		s.table = match[2]
	}
	return s
}

// SchemaVersion returns the number of the last migration of this version.
func SchemaVersion() (number int, err error) {
	names, err := fs.Glob(migrationFiles, "migrations/*.sql")
	if err == nil {
		_, err = fmt.Sscanf(names[len(names)-1], "migrations/%d_", &number)
	}
	return number, err
}
