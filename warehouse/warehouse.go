// Package warehouse keeps everything durable in ClickHouse: the records that
// imports append, what was worked out from them, and the journal that tells a
// publisher what changed. The same code talks to the embedded engine, to a server
// and to a sharded cluster.
package warehouse

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
)

// DefaultDatabase is the database that is used where the URL names none.
const DefaultDatabase = "pnyx"

// dialTimeout bounds how long one attempt to connect takes.
const dialTimeout = 5 * time.Second

// maxSendBufferBytes is how many bytes of a block are packed and sent at once, by whole
// columns. A connection keeps the room for them.
const maxSendBufferBytes = 1 << 20

// maxConnections is what a worker has under way at the most: four fills, a publication
// that reads a chunk in three lanes and the first pages of another in four, copies, the
// chronicle, the books. None of them waits for another to give up a connection.
const maxConnections = 16

// ErrUnreachable is what Open fails with when nothing answers at the address.
var ErrUnreachable = errors.New("clickhouse is unreachable")

//go:embed *.sql
var sqlFiles embed.FS

// sqlText returns the text of <name>.sql. It panics when there is none,
// which a test of every caller shows.
func sqlText(name string) string {
	text, err := sqlFiles.ReadFile(name + ".sql")
	if err != nil {
		panic(err)
	}
	return string(text)
}

// Options says which warehouse to open and what its queries may cost.
type Options struct {
	// URL is where ClickHouse listens: clickhouse:// or tcp:// for the native
	// protocol, http:// or https:// for HTTP, with user, password and database.
	URL string
	// Cluster names the cluster over whose shards the tables are spread; empty for
	// a single server.
	Cluster string
	// QueryTimeout, MaxMemory (bytes) and MaxRows (rows read) bound every query on
	// the server's side; zero leaves the server's own bound.
	QueryTimeout time.Duration
	MaxMemory    uint64
	MaxRows      uint64
	// Wait is how long Open waits for a server that is not there yet, or for a schema
	// that this user may not bring up to date.
	Wait   time.Duration
	Logger *slog.Logger
}

// Warehouse is an open connection pool. It is safe for concurrent use.
type Warehouse struct {
	conn    connection
	options *clickhouse.Options
	cluster string
	timeout time.Duration
	logger  *slog.Logger
}

// Open connects and brings the schema up to date where it is not. It fails with
// ErrUnreachable when no server answers.
func Open(ctx context.Context, o Options) (*Warehouse, error) {
	options, err := connectOptions(o)
	if err != nil {
		return nil, err
	}
	w := &Warehouse{options: options, cluster: o.Cluster, timeout: o.QueryTimeout, logger: o.Logger}
	w.conn.maxExecutionTime = o.QueryTimeout
	if err := Retry(ctx, o.Wait, o.Logger, func() error { return classifyError(w.migrate(ctx, w.needsMigration)) }); err != nil {
		return nil, err
	}
	if err := w.reconnect(ctx); err != nil {
		return nil, err
	}
	return w, nil
}

// reconnect opens the connection pool, in place of one that is closed.
func (w *Warehouse) reconnect(ctx context.Context) (err error) {
	if w.conn.Conn, err = clickhouse.Open(w.options); err != nil {
		return fmt.Errorf("open warehouse: %w", err)
	}
	if err := w.Ping(ctx); err != nil {
		return errors.Join(err, w.conn.Close())
	}
	return nil
}

// Close ends the connections.
func (w *Warehouse) Close() error {
	return w.conn.Close()
}

// Ping asks the server for a sign of life.
func (w *Warehouse) Ping(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	if err := w.conn.Ping(ctx); err != nil {
		return fmt.Errorf("%w at %v: %w", ErrUnreachable, w.options.Addr, err)
	}
	return nil
}

// Now returns the server's clock, by which batches and revisions are ordered.
func (w *Warehouse) Now(ctx context.Context) (time.Time, error) {
	var now time.Time
	if err := w.conn.QueryRow(ctx, "SELECT now64(6, 'UTC')").Scan(&now); err != nil {
		return time.Time{}, fmt.Errorf("read the warehouse's clock: %w", err)
	}
	return now, nil
}

func connectOptions(o Options) (*clickhouse.Options, error) {
	options, err := clickhouse.ParseDSN(o.URL)
	if err != nil {
		return nil, fmt.Errorf("clickhouse URL: %w", err)
	}
	if options.Auth.Database == "" {
		options.Auth.Database = DefaultDatabase
	}
	options.DialTimeout = dialTimeout
	options.ReadTimeout = o.QueryTimeout + dialTimeout
	options.MaxOpenConns, options.MaxIdleConns = maxConnections, maxConnections
	options.Compression = &clickhouse.Compression{Method: clickhouse.CompressionLZ4}
	options.MaxCompressionBuffer = maxSendBufferBytes
	if options.Settings == nil {
		options.Settings = clickhouse.Settings{}
	}
	maps.Copy(options.Settings, boundingSettings(o))
	return options, nil
}

func boundingSettings(o Options) clickhouse.Settings {
	settings := clickhouse.Settings{
		// A row must be where the next query looks for it when its insert returns.
		"distributed_foreground_insert": 1,
	}
	if o.QueryTimeout > 0 {
		settings["max_execution_time"] = max(int(o.QueryTimeout.Seconds()), 1)
	}
	if o.MaxMemory > 0 {
		settings["max_memory_usage"] = o.MaxMemory
		// Group-bys and sorts go to disk before they meet the bound.
		settings["max_bytes_before_external_group_by"] = o.MaxMemory / 2
		settings["max_bytes_before_external_sort"] = o.MaxMemory / 2
	}
	if o.MaxRows > 0 {
		settings["max_rows_to_read"] = o.MaxRows
	}
	return settings
}
