package warehouse

import (
	"context"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"go.opentelemetry.io/otel/trace"
)

// connection is a pool whose statements are ended by the server alone: those that
// are under way when their context ends come to their end, in the time that it or
// the server's own bound allows. The driver breaks them off by closing the
// connection in mid-answer, and the embedded engine aborts when it is reset.
type connection struct {
	driver.Conn
	// maxExecutionTime is the server's own bound on a statement; zero for none.
	maxExecutionTime time.Duration
	// statementMetrics is nil where nobody looks.
	metrics *statementMetrics
}

// Query begins a query unless ctx has ended.
func (c connection) Query(ctx context.Context, query string, args ...any) (driver.Rows, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	ctx, s := c.metrics.begin(ctx, opSelect, query)
	rows, err := c.Conn.Query(c.withoutCancel(ctx), query, args...)
	if err != nil {
		s.end(err)
		return nil, err
	}
	return measuredRows{rows, s}, nil
}

// QueryRow begins a query for one row.
func (c connection) QueryRow(ctx context.Context, query string, args ...any) driver.Row {
	ctx, s := c.metrics.begin(ctx, opSelect, query)
	return measuredRow{c.Conn.QueryRow(c.withoutCancel(ctx), query, args...), s}
}

// Exec runs a statement unless ctx has ended.
func (c connection) Exec(ctx context.Context, query string, args ...any) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	ctx, s := c.metrics.begin(ctx, opCommand, query)
	err := c.Conn.Exec(c.withoutCancel(ctx), query, args...)
	s.end(err)
	return err
}

// PrepareBatch begins an insert unless ctx has ended.
func (c connection) PrepareBatch(
	ctx context.Context, query string, options ...driver.PrepareBatchOption,
) (driver.Batch, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	batch, err := c.Conn.PrepareBatch(c.withoutCancel(ctx), query, options...) //nolint:clickhouselint // whoever began it closes it
	if err != nil {
		_, s := c.metrics.begin(ctx, opInsert, query)
		s.end(err)
		return nil, err
	}
	return measuredBatch{batch, ctx, c.metrics, query}, nil
}

// withoutCancel has the server keep the deadline of a context that the driver does not
// see any more, where it comes before the server's own bound.
func (c connection) withoutCancel(ctx context.Context) context.Context {
	detached := context.WithoutCancel(ctx)
	if span := trace.SpanContextFromContext(ctx); span.IsSampled() {
		// The server's own log of spans continues the trace.
		detached = clickhouse.Context(detached, clickhouse.WithSpan(span))
	}
	deadline, bounded := ctx.Deadline()
	left := time.Until(deadline)
	if !bounded || c.maxExecutionTime > 0 && left >= c.maxExecutionTime {
		return detached
	}
	seconds := max(int((left+time.Second-1)/time.Second), 1)
	return clickhouse.Context(detached, clickhouse.WithSettings(clickhouse.Settings{"max_execution_time": seconds}))
}
