package cache

import (
	"context"
	"errors"
	"net"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"pnyx/telemetry"
)

// Instruments configure the metrics and traces of a client.
type Instruments struct {
	// Client labels the metrics with the purpose of the connections.
	Client  string
	Metrics prometheus.Registerer
	Tracer  *telemetry.Tracer // nil when tracing is off
}

type operation string

const (
	opRead     operation = "read"
	opWrite    operation = "write"
	opScript   operation = "script"
	opPipeline operation = "pipeline" // several commands in one round trip
	opWait     operation = "wait"     // for a fill: its duration says nothing about Redis
	opConnect  operation = "connect"
	opOther    operation = "other"
)

func operationOf(command string) operation {
	switch command {
	case "get", "getrange", "mget", "exists", "llen", "hget", "hmget", "hscan", "zrange", "xrange", "ping", "time":
		return opRead
	case "set", "setnx", "del", "expire", "incr", "decr", "hset", "hdel", "rpush", "publish", "xadd", "xdel":
		return opWrite
	case "eval", "evalsha":
		return opScript
	case "blpop", "brpop":
		return opWait
	case "hello", "auth", "client", "select", "readonly":
		return opConnect
	}
	return opOther
}

type errorClass string

const (
	errorTimeout errorClass = "timeout"
	errorPool    errorClass = "pool" // every connection is in use
	errorNetwork errorClass = "network"
	errorServer  errorClass = "server" // Redis returned an error
)

// classOf classifies an error; empty for none, a missing key and a cancelled context.
func classOf(err error) errorClass {
	var timeout net.Error
	var answered redis.Error
	switch {
	case err == nil, errors.Is(err, redis.Nil), errors.Is(err, context.Canceled):
		return ""
	case errors.Is(err, redis.ErrPoolTimeout), errors.Is(err, redis.ErrPoolExhausted):
		return errorPool
	case errors.As(err, &answered):
		// The client sends the text of the script next.
		if redis.HasErrorPrefix(err, "NOSCRIPT") {
			return ""
		}
		return errorServer
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return errorTimeout
	}
	return errorNetwork
}

// Instrument measures every command from now on. Call it once, before the store is shared.
func (s *Store) Instrument(i Instruments) { instrument(Client(s.conn), i) }

// Instrument measures every command from now on. Call it once, before the pipeline is shared.
func (p *Pipeline) Instrument(i Instruments) { instrument(PipelineClient(p), i) }

func instrument(client redis.UniversalClient, i Instruments) {
	client.AddHook(newMeasure(i))
	for state, count := range map[string]func(*redis.PoolStats) uint32{
		"idle": func(s *redis.PoolStats) uint32 { return s.IdleConns },
		"busy": func(s *redis.PoolStats) uint32 { return s.TotalConns - min(s.IdleConns, s.TotalConns) },
	} {
		telemetry.Register(i.Metrics, prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "pnyx_redis_connections", Help: "Connections to Redis, by purpose of the client and state: idle or busy.",
			ConstLabels: prometheus.Labels{"client": i.Client, "state": state},
		}, func() float64 { return float64(count(client.PoolStats())) }))
	}
	telemetry.Register(i.Metrics, prometheus.NewCounterFunc(prometheus.CounterOpts{
		Name: "pnyx_redis_pool_timeouts_total", Help: "Commands that got no connection from the pool in time.",
		ConstLabels: prometheus.Labels{"client": i.Client},
	}, func() float64 { return float64(client.PoolStats().Timeouts) }))
}

// measure is a hook of the client that records metrics and traces.
type measure struct {
	tracer   *telemetry.Tracer
	duration prometheus.ObserverVec
	errors   *prometheus.CounterVec
}

// newMeasure makes all series, so that they are shown before the first command.
func newMeasure(i Instruments) *measure {
	duration := telemetry.Histograms(i.Metrics, telemetry.Latency("pnyx_redis_duration_seconds",
		"Duration of Redis commands, by purpose of the client and operation."), "client", "operation")
	failures := telemetry.Counters(i.Metrics, "pnyx_redis_errors_total",
		"Redis commands that failed, by client, operation and reason: timeout, pool, network, server.", "client", "operation", "reason")
	client := prometheus.Labels{"client": i.Client}
	m := &measure{i.Tracer, duration.MustCurryWith(client), failures.MustCurryWith(client)}
	for _, op := range []operation{opRead, opWrite, opScript, opPipeline, opWait, opConnect, opOther} {
		m.duration.WithLabelValues(string(op))
		for _, reason := range []errorClass{errorTimeout, errorPool, errorNetwork, errorServer} {
			m.errors.WithLabelValues(string(op), string(reason))
		}
	}
	return m
}

func (m *measure) record(op operation, began time.Time, span telemetry.Span, err error) {
	m.duration.WithLabelValues(string(op)).Observe(time.Since(began).Seconds())
	// Older servers do not know every command of the handshake.
	if reason := classOf(err); reason != "" && (op != opConnect || reason != errorServer) {
		m.errors.WithLabelValues(string(op), string(reason)).Inc()
		span.SetError(string(reason))
	}
	span.End()
}

func (m *measure) begin(ctx context.Context, name string) (context.Context, telemetry.Span) {
	if m.tracer == nil {
		return ctx, telemetry.Span{}
	}
	// Keys and values stay out of traces: they identify voters and requests.
	return m.tracer.Start(ctx, "redis "+name, trace.SpanKindClient,
		attribute.String("db.system.name", "redis"), attribute.String("db.operation.name", name))
}

// DialHook implements redis.Hook.
func (m *measure) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		began := time.Now()
		conn, err := next(ctx, network, address)
		m.record(opConnect, began, telemetry.Span{}, err)
		return conn, err
	}
}

// ProcessHook implements redis.Hook.
func (m *measure) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, command redis.Cmder) error {
		began := time.Now()
		ctx, span := m.begin(ctx, command.Name())
		err := next(ctx, command)
		m.record(operationOf(command.Name()), began, span, failureOf(command, err))
		return err
	}
}

// ProcessPipelineHook implements redis.Hook.
func (m *measure) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, commands []redis.Cmder) error {
		began := time.Now()
		ctx, span := m.begin(ctx, string(opPipeline))
		span.Count("db.operation.batch.size", len(commands))
		err := next(ctx, commands)
		op, failure := opPipeline, err
		if len(commands) > 0 {
			failure = failureOf(commands[0], err)
			if operationOf(commands[0].Name()) == opConnect {
				op = opConnect // the handshake of the client
			}
		}
		m.record(op, began, span, failure)
		return err
	}
}

// failureOf returns the error of a command, or of a pipeline by its first, unless it is a healthy server's answer.
func failureOf(command redis.Cmder, err error) error {
	if command.Name() == "info" && deniesInfo(err) {
		return nil
	}
	return err
}
