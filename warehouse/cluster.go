package warehouse

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
)

// localSuffix ends the name of the table on one shard; the distributed table has the
// name without it.
const localSuffix = "_local"

// storageClause matches an ALTER of how a shard stores its rows, which a distributed table rejects.
var storageClause = regexp.MustCompile(`\s(PROJECTION|INDEX|SETTING)\s`)

// tableName matches each table that a copy writes to or reads from. A shard copies its own rows.
var tableName = regexp.MustCompile(`\b(INTO|FROM) \w+`)

// shardStatements returns the statements that a node of the cluster runs for s: one for
// the local table of the shard and, where it applies, one for the distributed table. A
// single server runs s itself, and so does every node for a view.
func (w *Warehouse) shardStatements(s statement) []string {
	if s.shardBy == "" || w.cluster == "" {
		database := w.options.Auth.Database
		return []string{strings.NewReplacer("$views", QuoteIdentifier(ViewsDatabase(database)),
			"$data", QuoteIdentifier(database)).Replace(s.text)}
	}
	name := tableStatement.FindStringSubmatchIndex(s.text)
	local := s.text[:name[5]] + localSuffix + s.text[name[5]:]
	switch kind, _, _ := strings.Cut(s.text, " "); {
	case kind == "INSERT":
		return []string{tableName.ReplaceAllString(s.text, "${0}"+localSuffix)}
	case kind == "ALTER" && storageClause.MatchString(s.text):
		return []string{local}
	case kind == "ALTER":
		return []string{local, s.text}
	}
	return []string{local, fmt.Sprintf(
		"CREATE TABLE IF NOT EXISTS %s AS %s%s ENGINE = Distributed(%s, %s, %s, %s)",
		s.table, s.table, localSuffix, QuoteIdentifier(w.cluster),
		QuoteIdentifier(w.options.Auth.Database), s.table+localSuffix, s.shardBy)}
}

// nodes returns the address of the server, or of every replica of every shard of the cluster.
func (w *Warehouse) nodes(ctx context.Context) ([][]string, error) {
	if w.cluster == "" {
		return [][]string{w.options.Addr}, nil
	}
	conn, err := w.connect(ctx, w.options.Addr, "")
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	type node struct {
		Host string `ch:"host_name"`
		Port uint16 `ch:"port"`
	}
	var nodes []node
	err = conn.Select(ctx, &nodes, sqlText("cluster_nodes"), clickhouse.Named("cluster", w.cluster))
	if err != nil {
		return nil, fmt.Errorf("look up cluster %s: %w", w.cluster, err)
	}
	if len(nodes) == 0 {
		return nil, fmt.Errorf("CLICKHOUSE_CLUSTER: the server knows no cluster %q", w.cluster)
	}
	if w.options.Protocol == clickhouse.HTTP {
		return nil, errors.New("CLICKHOUSE_CLUSTER needs a native CLICKHOUSE_URL (clickhouse://…)")
	}
	return Values(nodes, func(n node) []string { return []string{fmt.Sprintf("%s:%d", n.Host, n.Port)} }), nil
}

// EachNode calls do with a connection to the server, or to every node of the cluster.
func (w *Warehouse) EachNode(ctx context.Context, do func(driver.Conn) error) error {
	nodes, err := w.nodes(ctx)
	if err != nil {
		return err
	}
	for _, node := range nodes {
		conn, err := w.connect(ctx, node, w.options.Auth.Database)
		if err != nil {
			return err
		}
		if err := errors.Join(do(conn), conn.Close()); err != nil {
			return err
		}
	}
	return nil
}

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
		err = fmt.Errorf("%w at %v: %w", ErrUnreachable, addresses, err)
		return nil, errors.Join(err, conn.Close())
	}
	return conn, nil
}

func (w *Warehouse) tableExists(ctx context.Context, node driver.Conn, table string) (bool, error) {
	if w.cluster != "" {
		table += localSuffix
	}
	var exists uint8
	if err := node.QueryRow(ctx, "EXISTS TABLE "+QuoteIdentifier(table)).Scan(&exists); err != nil {
		return false, fmt.Errorf("look up table %s: %w", table, err)
	}
	return exists == 1, nil
}

// QuoteIdentifier returns an identifier in backquotes. Identifiers come from the
// configuration, never from callers of the API.
func QuoteIdentifier(identifier string) string {
	return "`" + strings.NewReplacer("\\", "\\\\", "`", "\\`").Replace(identifier) + "`"
}
