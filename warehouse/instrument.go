package warehouse

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"pnyx/telemetry"
)

type operation string

const (
	opSelect  operation = "select"
	opInsert  operation = "insert"
	opCommand operation = "command"
)

// errorClass is the label by which failed statements are counted.
type errorClass string

const (
	errorTimeout     errorClass = "timeout"
	errorMemory      errorClass = "memory"
	errorUnreachable errorClass = "unreachable"
	errorServer      errorClass = "server" // every other error that the server states
)

// errorClassOf returns the class of an error; empty for none. A canceled context is no error.
func errorClassOf(err error) errorClass {
	const memoryCode = 241 // the error code MEMORY_LIMIT_EXCEEDED
	var exception *clickhouse.Exception
	switch {
	case err == nil, errors.Is(err, context.Canceled):
		return ""
	// TIMEOUT_EXCEEDED and TOO_SLOW
	case errors.As(err, &exception) && slices.Contains([]int32{159, 160}, exception.Code), errors.Is(err, context.DeadlineExceeded):
		return errorTimeout
	case exception != nil && exception.Code == memoryCode:
		return errorMemory
	case errors.Is(classifyError(err), ErrUnreachable):
		return errorUnreachable
	}
	return errorServer
}

// Instrument registers metrics and traces every statement from then on. Call it once,
// before the warehouse is shared between goroutines.
func (w *Warehouse) Instrument(metrics prometheus.Registerer, tracer *telemetry.Tracer) {
	w.Conn.metrics = newStatementMetrics(metrics, tracer)
	for state, count := range map[string]func(driver.Stats) int{
		"idle": func(s driver.Stats) int { return s.Idle },
		"busy": func(s driver.Stats) int { return s.Open }, // those in use: idle ones are not among them
	} {
		telemetry.Register(metrics, prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "pnyx_clickhouse_connections", Help: "Connections to ClickHouse, by state: idle or busy.",
			ConstLabels: prometheus.Labels{"state": state},
		}, func() float64 { return float64(count(w.Conn.Stats())) }))
	}
}

// statementMetrics measures statements; nil measures none.
type statementMetrics struct {
	tracer   *telemetry.Tracer
	duration *prometheus.HistogramVec
	errors   *prometheus.CounterVec
}

func newStatementMetrics(metrics prometheus.Registerer, tracer *telemetry.Tracer) *statementMetrics {
	m := &statementMetrics{
		tracer: tracer,
		duration: telemetry.Histograms(metrics,
			telemetry.Latency("pnyx_clickhouse_duration_seconds", "How long statements take until their last row is read, by operation."), "operation"),
		errors: telemetry.Counters(metrics, "pnyx_clickhouse_errors_total",
			"Statements that failed, by operation and reason: timeout, memory, unreachable, server.", "operation", "reason"),
	}
	for _, op := range []operation{opSelect, opInsert, opCommand} {
		m.duration.WithLabelValues(string(op))
		for _, reason := range []errorClass{errorTimeout, errorMemory, errorUnreachable, errorServer} {
			m.errors.WithLabelValues(string(op), string(reason))
		}
	}
	return m
}

type runningStatement struct {
	measure   *statementMetrics
	operation operation
	began     time.Time
	span      telemetry.Span
	// endTurn may be called repeatedly; nil for a statement that does not yield.
	endTurn func()
}

// begin starts a statement. The trace has its text, which contains no values: they are bound.
func (m *statementMetrics) begin(ctx context.Context, op operation, sql string) (context.Context, runningStatement) {
	s := runningStatement{measure: m, operation: op, began: time.Now()}
	if m == nil || m.tracer == nil {
		return ctx, s
	}
	ctx, s.span = m.tracer.Start(ctx, "clickhouse "+string(op), trace.SpanKindClient,
		attribute.String("db.system.name", "clickhouse"), attribute.String("db.operation.name", string(op)),
		attribute.String("db.query.text", sql))
	return ctx, s
}

// end records the duration and the error of the statement, and ends its turn.
func (s runningStatement) end(err error) {
	if s.endTurn != nil {
		s.endTurn()
	}
	if s.measure == nil {
		return
	}
	s.measure.duration.WithLabelValues(string(s.operation)).Observe(time.Since(s.began).Seconds())
	if reason := errorClassOf(err); reason != "" {
		s.measure.errors.WithLabelValues(string(s.operation), string(reason)).Inc()
		s.span.SetError(string(reason))
	}
	s.span.End()
}

type measuredRows struct {
	driver.Rows
	exchange runningStatement
}

// Err implements driver.Rows.
func (r measuredRows) Err() error { return classifyError(r.Rows.Err()) }

// Close implements driver.Rows.
func (r measuredRows) Close() error {
	err := r.Rows.Close()
	r.exchange.end(errors.Join(r.Err(), err))
	return err
}

type measuredRow struct {
	driver.Row
	exchange runningStatement
}

// Scan implements driver.Row.
func (r measuredRow) Scan(into ...any) error {
	err := r.Row.Scan(into...)
	r.exchange.end(err)
	return classifyError(err)
}

// ScanStruct implements driver.Row.
func (r measuredRow) ScanStruct(into any) error {
	err := r.Row.ScanStruct(into)
	r.exchange.end(err)
	return classifyError(err)
}

// measuredBatch is an insert whose Send is measured.
type measuredBatch struct {
	driver.Batch
	ctx     context.Context //nolint:containedctx // the context of PrepareBatch
	measure *statementMetrics
	sql     string
}

// Flush implements driver.Batch.
func (b measuredBatch) Flush() error { return classifyError(b.Batch.Flush()) }

// Send implements driver.Batch.
func (b measuredBatch) Send() error {
	_, s := b.measure.begin(b.ctx, opInsert, b.sql)
	err := b.Batch.Send()
	s.end(err)
	return classifyError(err)
}
