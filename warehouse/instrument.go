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

// operation is a kind of statement.
type operation string

const (
	opSelect  operation = "select"
	opInsert  operation = "insert"
	opCommand operation = "command"
)

func operations() []operation { return []operation{opSelect, opInsert, opCommand} }

// trouble is a kind of error of ClickHouse.
type trouble string

const (
	troubleTimeout     trouble = "timeout"
	troubleMemory      trouble = "memory"
	troubleUnreachable trouble = "unreachable"
	troubleServer      trouble = "server" // any other that it states
)

func troubles() []trouble {
	return []trouble{troubleTimeout, troubleMemory, troubleUnreachable, troubleServer}
}

// Codes with which the server ends what takes too long (TIMEOUT_EXCEEDED, TOO_SLOW) or
// too much (MEMORY_LIMIT_EXCEEDED).
func timeoutCodes() []int32 { return []int32{159, 160} }

const memoryCode = 241

// troubleOf sorts errors; empty for what is none. Who gives up has not been failed.
func troubleOf(err error) trouble {
	var exception *clickhouse.Exception
	switch {
	case err == nil, errors.Is(err, context.Canceled):
		return ""
	case errors.As(err, &exception) && slices.Contains(timeoutCodes(), exception.Code), errors.Is(err, context.DeadlineExceeded):
		return troubleTimeout
	case exception != nil && exception.Code == memoryCode:
		return troubleMemory
	case errors.Is(fault(err), ErrUnreachable):
		return troubleUnreachable
	}
	return troubleServer
}

// Instrument measures every statement from now on. It is called once, before the
// warehouse is shared.
func (w *Warehouse) Instrument(metrics prometheus.Registerer, tracer *telemetry.Tracer) {
	w.conn.measure = newMeasure(metrics, tracer)
	for state, count := range map[string]func(driver.Stats) int{
		"idle": func(s driver.Stats) int { return s.Idle },
		"busy": func(s driver.Stats) int { return s.Open - s.Idle },
	} {
		telemetry.Register(metrics, prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "pnyx_clickhouse_connections", Help: "Connections to ClickHouse, by state: idle or busy.",
			ConstLabels: prometheus.Labels{"state": state},
		}, func() float64 { return float64(max(0, count(w.conn.Stats()))) }))
	}
}

// measure measures statements; nil measures none.
type measure struct {
	tracer   *telemetry.Tracer
	duration map[operation]prometheus.Observer
	errors   map[operation]map[trouble]prometheus.Counter
}

func newMeasure(metrics prometheus.Registerer, tracer *telemetry.Tracer) *measure {
	duration := telemetry.Register(metrics, prometheus.NewHistogramVec(
		telemetry.Latency("pnyx_clickhouse_duration_seconds", "How long statements take until their last row is read, by operation."),
		[]string{"operation"}))
	failures := telemetry.Register(metrics, prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "pnyx_clickhouse_errors_total", Help: "Statements that failed, by operation and reason: timeout, memory, unreachable, server.",
	}, []string{"operation", "reason"}))
	m := &measure{
		tracer: tracer, duration: map[operation]prometheus.Observer{}, errors: map[operation]map[trouble]prometheus.Counter{},
	}
	for _, op := range operations() {
		m.duration[op] = duration.WithLabelValues(string(op))
		m.errors[op] = map[trouble]prometheus.Counter{}
		for _, reason := range troubles() {
			m.errors[op][reason] = failures.WithLabelValues(string(op), string(reason))
		}
	}
	return m
}

// exchange is a statement that is under way.
type exchange struct {
	measure   *measure
	operation operation
	began     time.Time
	span      telemetry.Span
}

// begin begins a statement. Its text is told to a trace: values are bound, and no
// part of it.
func (m *measure) begin(ctx context.Context, op operation, sql string) (context.Context, exchange) {
	s := exchange{measure: m, operation: op, began: time.Now()}
	if m == nil || m.tracer == nil {
		return ctx, s
	}
	ctx, s.span = m.tracer.Start(ctx, "clickhouse "+string(op), trace.SpanKindClient,
		attribute.String("db.system.name", "clickhouse"), attribute.String("db.operation.name", string(op)),
		attribute.String("db.query.text", sql))
	return ctx, s
}

// end notes that the statement is over.
func (s exchange) end(err error) {
	if s.measure == nil {
		return
	}
	s.measure.duration[s.operation].Observe(time.Since(s.began).Seconds())
	if reason := troubleOf(err); reason != "" {
		s.measure.errors[s.operation][reason].Inc()
		s.span.Fail(string(reason))
	}
	s.span.End()
}

// measuredRows end their statement when they are closed.
type measuredRows struct {
	driver.Rows

	exchange exchange
}

// Close implements driver.Rows.
func (r measuredRows) Close() error {
	err := r.Rows.Close()
	r.exchange.end(errors.Join(r.Err(), err))
	return err
}

// measuredRow ends its statement when it is read.
type measuredRow struct {
	driver.Row

	exchange exchange
}

// Scan implements driver.Row.
func (r measuredRow) Scan(into ...any) error {
	err := r.Row.Scan(into...)
	r.exchange.end(err)
	return err
}

// measuredBatch is an insert, of which the sending is measured.
type measuredBatch struct {
	driver.Batch

	ctx     context.Context //nolint:containedctx // the one that the insert was begun in
	measure *measure
	sql     string
}

// Send implements driver.Batch.
func (b measuredBatch) Send() error {
	_, s := b.measure.begin(b.ctx, opInsert, b.sql)
	err := b.Batch.Send()
	s.end(err)
	return err
}
