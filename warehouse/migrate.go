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

//go:embed migrations/*.sql
var migrationFiles embed.FS

// localSuffix marks the table of one shard behind a distributed table.
const localSuffix = "_local"

// statement is one statement of a migration. All are idempotent, so that two
// processes may run them at once and a run that was cut off is simply run again.
type statement struct {
	file string
	text string
	// table and shardBy are set for a statement about a table of records: in a
	// cluster it is made on each shard and a distributed one is put before it.
	table   string
	shardBy string
}

// tableStatement matches a statement that defines or alters a table.
var tableStatement = regexp.MustCompile(`(?s)^(CREATE TABLE IF NOT EXISTS|ALTER TABLE)\s+(\w+)`)

// Migrate creates the database and runs every migration, on each node of the
// cluster if there is one, whether it was run before or not. Nodes are spoken to
// one by one rather than by ON CLUSTER, which would need a Keeper.
func (w *Warehouse) Migrate(ctx context.Context) error {
	return w.migrate(ctx, func(context.Context, []string, string) bool { return true })
}

// migrate runs every migration on the nodes that need it.
func (w *Warehouse) migrate(ctx context.Context, needed func(context.Context, []string, string) bool) error {
	statements, err := migrations(migrationFiles)
	if err != nil {
		return err
	}
	nodes, err := w.nodes(ctx)
	if err != nil {
		return err
	}
	fingerprint := w.fingerprint(statements)
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

// accessDenied is the code of ACCESS_DENIED.
const accessDenied = 497

// errSchemaOutdated is a schema that is not there yet, or is another version's.
var errSchemaOutdated = errors.New("the schema is not that of this version")

// explainDenied says what to do about a schema that this user may not change.
func explainDenied(err error) error {
	var exception *clickhouse.Exception
	if errors.As(err, &exception) && exception.Code == accessDenied {
		return fmt.Errorf("%w: run pnyx migrate as a user who may change it: %w", errSchemaOutdated, err)
	}
	return err
}

// fingerprint tells one set of migrations from another.
func (w *Warehouse) fingerprint(statements []statement) string {
	hash := sha256.New()
	for _, s := range statements {
		for _, text := range w.shardStatements(s) {
			fmt.Fprintln(hash, text)
		}
	}
	return hex.EncodeToString(hash.Sum(nil))
}

// needsMigration reports whether migrations were not run on a node yet. What keeps it
// from finding out, they meet as well, and say.
func (w *Warehouse) needsMigration(ctx context.Context, addresses []string, fingerprint string) bool {
	// The database may not be there yet.
	conn, err := w.connect(ctx, addresses, "")
	if err != nil {
		return true
	}
	defer conn.Close()
	var applied uint64
	table := quoted(w.options.Auth.Database) + ".schema_migrations"
	err = conn.QueryRow(ctx, "SELECT count() FROM "+table+" WHERE fingerprint = ?", fingerprint).Scan(&applied)
	return err != nil || applied == 0
}

func (w *Warehouse) migrateNode(
	ctx context.Context, addresses []string, statements []statement, fingerprint string,
) error {
	database := w.options.Auth.Database
	if err := w.execute(ctx, addresses, "", "CREATE DATABASE IF NOT EXISTS "+quoted(database)); err != nil {
		return fmt.Errorf("create database %s: %w", database, err)
	}
	for _, s := range statements {
		if err := w.execute(ctx, addresses, database, w.shardStatements(s)...); err != nil {
			return fmt.Errorf("migration %s: %w", s.file, err)
		}
	}
	// A fingerprint is hexadecimal: there is nothing in it to escape.
	return w.execute(ctx, addresses, database, "INSERT INTO schema_migrations (fingerprint) VALUES ('"+fingerprint+"')")
}

// execute runs statements on one node.
func (w *Warehouse) execute(ctx context.Context, addresses []string, database string, texts ...string) error {
	conn, err := w.connect(ctx, addresses, database)
	if err != nil {
		return err
	}
	defer conn.Close()
	for _, text := range texts {
		if err := conn.Exec(ctx, text); err != nil {
			return err
		}
	}
	return nil
}

// connect opens a connection to one node.
func (w *Warehouse) connect(ctx context.Context, addresses []string, database string) (driver.Conn, error) {
	options := *w.options
	options.Addr = addresses
	options.Auth.Database = database
	options.MaxOpenConns = 1
	conn, err := clickhouse.Open(&options)
	if err != nil {
		return nil, fmt.Errorf("open warehouse: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	if err := conn.Ping(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("%w at %v: %w", ErrUnreachable, addresses, err), conn.Close())
	}
	return conn, nil
}

// nodes returns the addresses of the server, or of every node of the cluster.
func (w *Warehouse) nodes(ctx context.Context) ([][]string, error) {
	if w.cluster == "" {
		return [][]string{w.options.Addr}, nil
	}
	return w.clusterNodes(ctx)
}

// clusterNodes returns the address of every node of the cluster.
func (w *Warehouse) clusterNodes(ctx context.Context) ([][]string, error) {
	conn, err := w.connect(ctx, w.options.Addr, "")
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	var nodes []struct {
		Host string `ch:"host_name"`
		Port uint16 `ch:"port"`
	}
	if err := conn.Select(ctx, &nodes, sqlText("cluster_nodes"), clickhouse.Named("cluster", w.cluster)); err != nil {
		return nil, fmt.Errorf("look up cluster %s: %w", w.cluster, err)
	}
	if len(nodes) == 0 {
		return nil, fmt.Errorf("CLICKHOUSE_CLUSTER: the server knows no cluster %q", w.cluster)
	}
	if w.options.Protocol == clickhouse.HTTP {
		return nil, errors.New("CLICKHOUSE_CLUSTER needs a native CLICKHOUSE_URL (clickhouse://…)")
	}
	addresses := make([][]string, len(nodes))
	for i, node := range nodes {
		addresses[i] = []string{fmt.Sprintf("%s:%d", node.Host, node.Port)}
	}
	return addresses, nil
}

// partsClause matches a change of how a shard's own table keeps its rows, of which the
// distributed one before it knows nothing.
var partsClause = regexp.MustCompile(`\s(PROJECTION|INDEX|SETTING)\s`)

// shardStatements returns what a statement becomes: itself on a single server; in a
// cluster, the same for the shard's own table, and the distributed table before it.
func (w *Warehouse) shardStatements(s statement) []string {
	if s.shardBy == "" || w.cluster == "" {
		return []string{s.text}
	}
	name := tableStatement.FindStringSubmatchIndex(s.text)
	local := s.text[:name[5]] + localSuffix + s.text[name[5]:]
	if strings.HasPrefix(s.text, "ALTER") && partsClause.MatchString(s.text) {
		return []string{local}
	}
	if strings.HasPrefix(s.text, "ALTER") {
		return []string{local, s.text}
	}
	return []string{local, fmt.Sprintf("CREATE TABLE IF NOT EXISTS %s AS %s%s ENGINE = Distributed(%s, %s, %s, %s)",
		s.table, s.table, localSuffix,
		quoted(w.cluster), quoted(w.options.Auth.Database), s.table+localSuffix, s.shardBy)}
}

// migrations reads every statement of the files, in order of their names.
func migrations(files fs.FS) ([]statement, error) {
	names, err := fs.Glob(files, "migrations/*.sql")
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

// parseStatement takes the comments off a statement, and its sharding key out of
// them.
func parseStatement(file, part string) statement {
	s := statement{file: file}
	var code []string
	for line := range strings.Lines(part) {
		if comment, found := strings.CutPrefix(strings.TrimSpace(line), "--"); found {
			if key, found := strings.CutPrefix(strings.TrimSpace(comment), "shard by: "); found {
				s.shardBy = key
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

// quoted returns an identifier in quotes. Identifiers come from configuration,
// never from callers of the API.
func quoted(identifier string) string {
	return "`" + strings.NewReplacer("\\", "\\\\", "`", "\\`").Replace(identifier) + "`"
}
