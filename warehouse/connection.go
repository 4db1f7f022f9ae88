package warehouse

import (
	"context"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"go.opentelemetry.io/otel/trace"
)

// connection is a pool whose running statements end on the server: when a context ends, a statement continues up
// to its deadline or the server's bound. The driver would cancel it by closing the connection during the answer,
// and the embedded engine aborts on such a reset. Its errors say ErrUnreachable where the connection failed.
type connection struct {
	driver.Conn
	// maxExecutionTime is the bound of the server on a statement; zero for none.
	maxExecutionTime time.Duration
	// metrics is nil without Instrument.
	metrics *statementMetrics
	// turns is nil where no statement yields.
	turns *turns
}

// begin starts a statement, after it has waited for its turn if it yields, and returns the
// context to send it with.
func (c connection) begin(ctx context.Context, op operation, query string) (context.Context, runningStatement) {
	threads, endTurn := c.turns.yield(ctx)
	ctx, s := c.metrics.begin(ctx, op, query)
	s.endTurn = endTurn
	return c.withoutCancel(ctx, threads), s
}

// Query starts a query unless ctx has ended. Each Table among args travels with it.
func (c connection) Query(ctx context.Context, query string, args ...any) (driver.Rows, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	ctx, args, err := withTables(ctx, args)
	if err != nil {
		return nil, err
	}
	ctx, s := c.begin(ctx, opSelect, query)
	rows, err := c.Conn.Query(ctx, query, args...)
	if err != nil {
		s.end(err)
		return nil, classifyError(err)
	}
	return measuredRows{rows, s}, nil
}

// QueryRow starts a query for one row.
func (c connection) QueryRow(ctx context.Context, query string, args ...any) driver.Row {
	ctx, s := c.begin(ctx, opSelect, query)
	return measuredRow{c.Conn.QueryRow(ctx, query, args...), s}
}

// Exec runs a statement to its end, unless ctx has ended before.
func (c connection) Exec(ctx context.Context, query string, args ...any) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	ctx, s := c.begin(ctx, opCommand, query)
	err := c.Conn.Exec(ctx, query, args...)
	s.end(err)
	return classifyError(err)
}

// PrepareBatch starts an insert unless ctx has ended.
func (c connection) PrepareBatch(ctx context.Context, query string, options ...driver.PrepareBatchOption) (driver.Batch, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	batch, err := c.Conn.PrepareBatch(c.withoutCancel(ctx, 0), query, options...) //nolint:clickhouselint // the caller closes it
	if err != nil {
		_, s := c.metrics.begin(ctx, opInsert, query)
		s.end(err)
		return nil, classifyError(err)
	}
	return measuredBatch{batch, ctx, c.metrics, query}, nil
}

// withoutCancel returns a context that never ends, with settings for the server: the deadline of ctx, where it
// comes before the server's bound, and a number of threads unless that is zero.
func (c connection) withoutCancel(ctx context.Context, threads int) context.Context {
	detached := context.WithoutCancel(ctx)
	if span := trace.SpanContextFromContext(ctx); span.IsSampled() {
		// The span log of the server continues the trace.
		detached = clickhouse.Context(detached, clickhouse.WithSpan(span))
	}
	settings := clickhouse.Settings{}
	if threads > 0 {
		settings["max_threads"] = threads
	}
	deadline, bounded := ctx.Deadline()
	if left := time.Until(deadline); bounded && (c.maxExecutionTime == 0 || left < c.maxExecutionTime) {
		settings["max_execution_time"] = max(int((left+time.Second-1)/time.Second), 1)
	}
	if len(settings) == 0 {
		return detached
	}
	return clickhouse.Context(detached, clickhouse.WithSettings(settings))
}
