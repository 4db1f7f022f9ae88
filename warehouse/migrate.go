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
)

//go:embed migrations/*.sql views/*.sql
var migrationFiles embed.FS

// statement is one statement of a migration. Every statement is idempotent: two
// processes may run it concurrently, and an interrupted migration runs again from the
// start. Migrations only add, so that the previous version keeps working on the new
// schema: a table gets a new name as a new table, and a column keeps its name.
type statement struct {
	// file is the migration that contains the statement, for error messages.
	file string
	// text is the statement without comments.
	text string
	// table and shardBy are set for a statement about a sharded table. In a cluster it
	// applies to the local table of each shard and to the distributed table.
	table   string
	shardBy string
	// onlyIf names a table without which the statement is skipped: the table of a
	// previous version whose rows are copied.
	onlyIf string
}

// tableStatement matches a statement that creates, alters or fills a table.
var tableStatement = regexp.MustCompile(
	`(?s)^(CREATE TABLE IF NOT EXISTS|ALTER TABLE|INSERT INTO)\s+(\w+)`)

// Migrate creates the database and runs every migration on each node, whether or not it
// ran before. Nodes are migrated one after the other: ON CLUSTER would need a Keeper.
func (w *Warehouse) Migrate(ctx context.Context) error {
	return w.migrate(ctx, func(context.Context, []string, string) bool { return true })
}

// migrate runs every migration on the nodes for which needed returns true.
func (w *Warehouse) migrate(
	ctx context.Context, needed func(context.Context, []string, string) bool,
) error {
	statements, err := migrations(migrationFiles)
	if err != nil {
		return err
	}
	nodes, err := w.nodes(ctx)
	if err != nil {
		return err
	}
	fingerprint := w.schemaFingerprint(statements)
	for _, node := range nodes {
		if !needed(ctx, node, fingerprint) {
			continue
		}
		if err := w.migrateNode(ctx, node, statements, fingerprint); err != nil {
			return explainDenied(err)
		}
	}
	return nil
}

// accessDenied is the ClickHouse error code ACCESS_DENIED.
const accessDenied = 497

// errSchemaOutdated reports a schema that is missing or belongs to another version.
var errSchemaOutdated = errors.New("warehouse schema is not that of this version")

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

// needsMigration reports whether a node lacks the schema with this fingerprint. It
// returns true when it cannot tell: the migration then fails with the cause.
func (w *Warehouse) needsMigration(ctx context.Context, addresses []string, fingerprint string) bool {
	// The database may not exist yet, so the connection names none.
	conn, err := w.connect(ctx, addresses, "")
	if err != nil {
		return true
	}
	defer conn.Close()
	var applied uint64
	table := quoteIdentifier(w.options.Auth.Database) + ".schema_migrations"
	err = conn.QueryRow(ctx, "SELECT count() FROM "+table+" WHERE fingerprint = ?", fingerprint).Scan(&applied)
	return err != nil || applied == 0
}

func (w *Warehouse) migrateNode(
	ctx context.Context, addresses []string, statements []statement, fingerprint string,
) error {
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
	// The fingerprint is hexadecimal and needs no escaping.
	return node.Exec(ctx, "INSERT INTO schema_migrations (fingerprint) VALUES ('"+fingerprint+"')")
}

// createDatabases creates databases over a connection that names none.
func (w *Warehouse) createDatabases(ctx context.Context, addresses []string, names ...string) error {
	node, err := w.connect(ctx, addresses, "")
	if err != nil {
		return err
	}
	defer node.Close()
	for _, name := range names {
		if err := node.Exec(ctx, "CREATE DATABASE IF NOT EXISTS "+quoteIdentifier(name)); err != nil {
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

// migrations returns every statement of the files, in order of the file names: first the
// migrations, then the views.
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

// parseStatement removes the comments of a statement and reads two of them: the sharding
// key from "-- shard by: <expression>", and the table that a copy reads from
// "-- where exists: <table>".
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
