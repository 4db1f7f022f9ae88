package warehouse

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strings"
)

// earlierFiles are the tables of 0.1.0. Warehouses that began with it have some of them, and
// others in the form that they had there.
//
//go:embed earlier/*.sql
var earlierFiles embed.FS

const (
	// earlierSchema is the number of the last migration of 0.1.0.
	earlierSchema = 15
	// earlierTable is a table that 0.1.0 alone makes.
	earlierTable = "chronicle_events"
)

// ErrDefinition reports a backup whose tables are not those that migrations make.
var ErrDefinition = errors.New("the tables of the backup are not those that migrations make: it was changed, " +
	"or made after a later version of pnyx, which then restores it")

// Restored is what is restored of one shard of a backup.
type Restored struct {
	// Database is the name of the database in the backup, and Tables are its tables, in order.
	Database string
	Tables   []string
	// Schema is the number of the last migration that had changed them.
	Schema int
	// From is the backup, and Base what it needs; nil for a full one.
	From Location
	Base *Location
}

// Restore restores the rows of one shard to a database, which it drops first, and nothing else. No statement of
// the backup runs: migrations of this program make the tables, and RESTORE compares them with the backup's before
// it takes any row. Merges stay off, so that rows can be counted. progress gets the bytes read and their total.
func (a *Archive) Restore(
	ctx context.Context, shard int, r Restored, database string, progress func(ctx context.Context, done, total uint64),
) error {
	quoted := QuoteIdentifier(database)
	if err := a.run(ctx, shard, "DROP DATABASE IF EXISTS "+quoted+" SYNC", "CREATE DATABASE "+quoted); err != nil {
		return err
	}
	if err := a.makeTables(ctx, shard, database, r); err != nil {
		return err
	}
	if err := a.switchMerges(ctx, shard, database, "STOP"); err != nil {
		return err
	}
	tables := Values(r.Tables, func(table string) string {
		return "TABLE " + QuoteIdentifier(r.Database) + "." + QuoteIdentifier(table) + " AS " + quoted + "." + QuoteIdentifier(table)
	})
	sql := "RESTORE " + strings.Join(tables, ", ") + " FROM " + r.From.sql() +
		" SETTINGS allow_non_empty_tables = 0, allow_different_table_def = 0, allow_different_database_def = 0," +
		" create_database = 'must-exist', create_table = 'must-exist'"
	if r.Base != nil {
		sql += ", base_backup = " + r.Base.sql()
	}
	return explainDefinition(a.await(ctx, shard, sql, progress))
}

// differingTable finds the table in the error of RESTORE.
var differingTable = regexp.MustCompile(`different definition.*While checking table ([\w.]+)`)

// explainDefinition returns ErrDefinition for the error of RESTORE that tables differ. It
// names the table only: the definition is a text of the backup.
func explainDefinition(err error) error {
	if err == nil {
		return nil
	}
	if found := differingTable.FindStringSubmatch(err.Error()); found != nil {
		return fmt.Errorf("%w: table %s differs", ErrDefinition, found[1])
	}
	return err
}

// makeTables makes the tables of a backup in an empty database of one shard, as its schema has
// them. It returns ErrDefinition if they are not all of those that a backup has.
func (a *Archive) makeTables(ctx context.Context, shard int, database string, r Restored) error {
	statements, err := a.tableStatements(r)
	if err != nil {
		return err
	}
	conn, err := a.warehouse.connect(ctx, a.nodes[shard], database)
	if err != nil {
		return err
	}
	defer conn.Close()
	made := map[string]bool{}
	for _, s := range statements {
		name := a.localName(s)
		made[name] = true
		if !slices.Contains(r.Tables, name) {
			continue
		}
		// The first is about the table that holds the rows.
		if err := conn.Exec(ctx, a.warehouse.shardStatements(s)[0]); err != nil {
			return fmt.Errorf("make table %s: %w", name, err)
		}
	}
	for _, table := range r.Tables {
		if !made[table] {
			return fmt.Errorf("%w: it has a table %s", ErrDefinition, table)
		}
	}
	for table := range made {
		if !isMadeFromBallots(table) && !slices.Contains(r.Tables, table) {
			return fmt.Errorf("%w: it has no table %s", ErrDefinition, table)
		}
	}
	return nil
}

// localName returns the name of the table that holds the rows of a shard.
func (a *Archive) localName(s statement) string {
	if s.shardBy == "" || a.warehouse.cluster == "" {
		return s.table
	}
	return s.table + localSuffix
}

// tableStatements returns the statements that make the tables of a schema, not those that fill them.
func (a *Archive) tableStatements(r Restored) (found []statement, err error) {
	sources := []fs.FS{migrationFiles}
	if slices.Contains(r.Tables, earlierTable) || slices.Contains(r.Tables, earlierTable+localSuffix) {
		sources = []fs.FS{earlierFiles, migrationFiles}
	}
	for _, files := range sources {
		statements, err := migrations(files)
		if err != nil {
			return nil, err
		}
		for _, s := range statements {
			makes := strings.HasPrefix(s.text, "CREATE TABLE ") ||
				strings.HasPrefix(s.text, "ALTER TABLE ") && !strings.Contains(s.text, " MATERIALIZE ")
			if makes && s.table != "" && schemaOf(s) <= r.Schema {
				found = append(found, s)
			}
		}
	}
	return found, nil
}

func schemaOf(s statement) (number int) {
	if _, err := fmt.Sscanf(s.file, "migrations/%d_", &number); err != nil {
		return earlierSchema
	}
	return number
}

// AppliedSchema returns the number of the last migration that changed the tables. It may be of a later version.
func (a *Archive) AppliedSchema(ctx context.Context) (int, error) {
	var number uint32
	sql := "SELECT max(number) FROM " + QuoteIdentifier(a.Database()) + ".schema_migrations"
	if err := a.shards[0].QueryRow(ctx, sql).Scan(&number); err != nil {
		return 0, fmt.Errorf("read the schema: %w", err)
	}
	return int(number), nil
}

// EscapeForPath returns the name of a database as the server writes it in paths.
func EscapeForPath(name string) string {
	var escaped strings.Builder
	for _, b := range []byte(name) {
		if b == '_' || '0' <= b && b <= '9' || 'A' <= b && b <= 'Z' || 'a' <= b && b <= 'z' {
			escaped.WriteByte(b)
		} else {
			fmt.Fprintf(&escaped, "%%%02X", b)
		}
	}
	return escaped.String()
}
