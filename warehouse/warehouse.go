// Package warehouse stores all durable data in ClickHouse: the records that imports
// append, the states computed from them, the journal that tells a publisher what changed,
// and the accounts of tokens, usage and payments. The same code runs against the embedded
// engine, a server and a sharded cluster.
//
// This package connects, migrates the schema and reads and writes rows; what it reads and writes is in
// the packages below, by use: records, counts, pages, feed, accounts. Voting power is decimal
// throughout; no query uses floats.
//
// Each noun has a Go file, and its SQL is in the folder sql beside it, in files whose names begin with
// the name of the Go file. Every value is bound; only fragments of SQL are formatted.
package warehouse

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"slices"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
)

// DefaultDatabase is the database for a URL that names none.
const DefaultDatabase = "pnyx"

// ViewsDatabase returns the name of the database with the views of analysts on a database.
func ViewsDatabase(database string) string { return database + viewsSuffix }

const (
	viewsSuffix = "_views"
	// dialTimeout bounds one attempt to connect.
	dialTimeout = 5 * time.Second
	// maxSendBufferBytes bounds the compressed bytes of a block that are sent together, and each connection's buffer.
	maxSendBufferBytes = 1 << 20
	// maxConnections is more than a worker uses concurrently: four fills, a publication with up to four queries,
	// sorted copies, the feed and the accounts. None of them waits for a connection of another.
	maxConnections = 16
)

// ErrUnreachable reports that no server answers at the address, that the connection failed, or that the server cannot serve now.
var ErrUnreachable = errors.New("clickhouse is unreachable or busy")

//go:embed sql
var sqlFiles embed.FS

func sqlText(name string) string { return SQLText(sqlFiles, name) }

// SQLText returns the text of sql/<name>.sql among files. It panics unless the file exists, which a
// test of every caller shows.
func SQLText(files embed.FS, name string) string {
	text, err := files.ReadFile("sql/" + name + ".sql")
	if err != nil {
		panic(err)
	}
	return string(text)
}

// Options names the warehouse to open and bounds its queries.
type Options struct {
	// URL is the address with user, password and database: clickhouse://, tcp:// (both native), http:// or https://.
	URL string
	// Cluster is the name of the cluster whose shards have the tables; empty for a single server.
	Cluster string
	// QueryTimeout bounds the duration of every query; zero leaves the bound of the server.
	QueryTimeout time.Duration
	// MaxMemory bounds the memory of every query, in bytes; zero leaves the bound of the server.
	MaxMemory uint64
	// MaxRows bounds the rows that a query reads; zero leaves the bound of the server.
	MaxRows uint64
	// Wait is how long Open waits for a server that does not answer yet, or for a schema
	// that this user may not migrate.
	Wait time.Duration
	// Logger receives a warning for each attempt to connect that fails.
	Logger *slog.Logger
}

// Warehouse is an open connection pool. It is safe for concurrent use.
type Warehouse struct {
	// Conn runs the statements of the packages below.
	Conn    connection
	options *clickhouse.Options
	cluster string
	// FollowVersion gives the versions of rows that followers write.
	FollowVersion versionClock
	// committed is called after every committed batch; nil for no call.
	committed func(ctx context.Context)
	pulse     lastPulse
}

// OnCommit sets what is called after every batch that this process commits. It must be set
// before the first, and return soon.
func (w *Warehouse) OnCommit(committed func(ctx context.Context)) { w.committed = committed }

// TellCommit calls what OnCommit has set.
func (w *Warehouse) TellCommit(ctx context.Context) {
	if w.committed != nil {
		w.committed(ctx)
	}
}

// QueryTimeout bounds the duration of every query; zero leaves the bound of the server.
func (w *Warehouse) QueryTimeout() time.Duration { return w.Conn.maxExecutionTime }

// Open connects and migrates where needed: ErrUnreachable if no server answers within o.Wait.
func Open(ctx context.Context, o Options) (*Warehouse, error) {
	options, err := connectOptions(o)
	if err != nil {
		return nil, err
	}
	w := &Warehouse{options: options, cluster: o.Cluster}
	w.Conn.maxExecutionTime = o.QueryTimeout
	if err := Retry(ctx, o.Wait, o.Logger, func() error { return w.migrate(ctx, schemaMissing) }); err != nil {
		return nil, err
	}
	if w.Conn.Conn, err = clickhouse.Open(w.options); err != nil {
		return nil, fmt.Errorf("open warehouse: %w", err)
	}
	if err := w.Ping(ctx); err != nil {
		return nil, errors.Join(err, w.Close())
	}
	threads, err := w.serverThreads(ctx)
	if err != nil {
		return nil, errors.Join(err, w.Close())
	}
	w.Conn.turns = newTurns(threads)
	return w, nil
}

// Close closes the connections.
func (w *Warehouse) Close() error { return w.Conn.Close() }

// Ping returns ErrUnreachable when the server does not answer.
func (w *Warehouse) Ping(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	if err := w.Conn.Ping(ctx); err != nil {
		return fmt.Errorf("%w at %v: %w", ErrUnreachable, w.options.Addr, err)
	}
	return nil
}

// Now returns the time of the server's clock, which orders batches and revisions.
func (w *Warehouse) Now(ctx context.Context) (time.Time, error) {
	return FindValue[time.Time](ctx, w, "read the clock of the server", "SELECT now64(6, 'UTC')")
}

// LastRevision returns the latest revision at which a proposal or topic was published; 0 for none.
func (w *Warehouse) LastRevision(ctx context.Context) (uint64, error) {
	const sql = "SELECT max(revision) FROM (SELECT revision FROM proposal_states UNION ALL SELECT revision FROM topic_states)"
	return FindValue[uint64](ctx, w, "read the last revision", sql)
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
	if !isLocal(options.Addr) {
		options.Compression = &clickhouse.Compression{Method: clickhouse.CompressionLZ4}
	}
	options.MaxCompressionBuffer = maxSendBufferBytes
	if options.Settings == nil {
		options.Settings = clickhouse.Settings{}
	}
	maps.Copy(options.Settings, boundingSettings(o))
	if options.Protocol == clickhouse.HTTP {
		// The driver takes the end of a body for the end of the rows. gzip states its own end: an answer
		// that a proxy cut off is an error.
		options.Compression = &clickhouse.Compression{Method: clickhouse.CompressionGZIP, Level: 1}
		options.Settings["enable_http_compression"], options.Settings["http_zlib_compression_level"] = 1, 1
	}
	return options, nil
}

// isLocal reports whether all servers are on this machine: compression costs more than it saves.
func isLocal(addresses []string) bool {
	return !slices.ContainsFunc(addresses, func(address string) bool {
		host, _, err := net.SplitHostPort(address)
		return err != nil || host != "localhost" && !net.ParseIP(host).IsLoopback()
	})
}

func boundingSettings(o Options) clickhouse.Settings {
	settings := clickhouse.Settings{
		// The next query must find a row as soon as its insert returns.
		"distributed_foreground_insert": 1,
		// A statement is compiled when it has run three times, for 30 to 130 ms of processor time that its caller waits
		// for. What Pnyx reads, texts and wide decimals, gains nothing by it.
		"compile_expressions": 0, "compile_aggregate_expressions": 0, "compile_sort_description": 0,
	}
	if o.QueryTimeout > 0 {
		settings["max_execution_time"] = max(int(o.QueryTimeout.Seconds()), 1)
	}
	if o.MaxMemory > 0 {
		settings["max_memory_usage"] = o.MaxMemory
		// Grouping and sorting use the disk before they reach the bound.
		settings["max_bytes_before_external_group_by"] = o.MaxMemory / 2
		settings["max_bytes_before_external_sort"] = o.MaxMemory / 2
	}
	if o.MaxRows > 0 {
		settings["max_rows_to_read"] = o.MaxRows
	}
	return settings
}
