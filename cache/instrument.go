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

// Instruments are what conversations with Redis are measured by.
type Instruments struct {
	// Client is what the connections are for: one of few names.
	Client  string
	Metrics prometheus.Registerer
	// Tracer is nil when no traces are made.
	Tracer *telemetry.Tracer
}

// operation is a kind of conversation with Redis.
type operation string

const (
	opRead     operation = "read"
	opWrite    operation = "write"
	opScript   operation = "script"
	opPipeline operation = "pipeline" // many commands at once
	opWait     operation = "wait"     // for a fill: how long it lasts says nothing of Redis
	opConnect  operation = "connect"
	opOther    operation = "other"
)

func operations() []operation {
	return []operation{opRead, opWrite, opScript, opPipeline, opWait, opConnect, opOther}
}

// operationOf sorts commands.
func operationOf(command string) operation {
	switch command {
	case "get", "getrange", "mget", "exists", "llen", "hget", "hmget", "hscan", "zrange", "xrange", "ping", "time":
		return opRead
	case "set", "setnx", "del", "expire", "incr", "decr", "hset", "hdel", "rpush", "publish", "xadd", "xdel":
		return opWrite
	case "eval", "evalsha":
		return opScript
	case "blpop":
		return opWait
	case "hello", "auth", "client", "select", "readonly":
		return opConnect
	}
	return opOther
}

// errorClass is a kind of error of Redis.
type errorClass string

const (
	troubleTimeout errorClass = "timeout"
	troublePool    errorClass = "pool" // every connection is in use
	troubleNetwork errorClass = "network"
	troubleServer  errorClass = "server" // it answers, with an error
)

func troubles() []errorClass {
	return []errorClass{troubleTimeout, troublePool, troubleNetwork, troubleServer}
}

// troubleOf sorts errors; empty for what is none. A key without a value is an answer,
// and who gives up has not been failed by Redis.
func troubleOf(err error) errorClass {
	var timeout net.Error
	var answered redis.Error
	switch {
	case err == nil, errors.Is(err, redis.Nil), errors.Is(err, context.Canceled):
		return ""
	case errors.Is(err, redis.ErrPoolTimeout), errors.Is(err, redis.ErrPoolExhausted):
		return troublePool
	case errors.As(err, &answered):
		// A script that is not there yet is sent: a step on the way.
		if redis.HasErrorPrefix(err, "NOSCRIPT") {
			return ""
		}
		return troubleServer
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return troubleTimeout
	}
	return troubleNetwork
}

// Instrument measures every conversation of the store from now on. It is called once,
// before the store is shared.
func (s *Store) Instrument(i Instruments) {
	instrument(s.conn.Client, i)
}

// Instrument measures every conversation of the pipeline from now on. It is called
// once, before the pipeline is shared.
func (p *Pipeline) Instrument(i Instruments) {
	instrument(p.client, i)
}

func instrument(client redis.UniversalClient, i Instruments) {
	client.AddHook(newMeasure(i))
	connections := telemetry.Register(i.Metrics, newConnections())
	connections.add(i.Client, client)
}

// measure is a hook of the client that measures.
type measure struct {
	tracer   *telemetry.Tracer
	duration map[operation]prometheus.Observer
	errors   map[operation]map[errorClass]prometheus.Counter
}

func newMeasure(i Instruments) *measure {
	duration := telemetry.Register(i.Metrics, prometheus.NewHistogramVec(
		telemetry.Latency("pnyx_redis_duration_seconds", "How long conversations with Redis take, by what the client is for and kind of operation."),
		[]string{"client", "operation"}))
	failures := telemetry.Register(i.Metrics, prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "pnyx_redis_errors_total", Help: "Conversations with Redis that failed, by client, operation and reason: timeout, pool, network, server.",
	}, []string{"client", "operation", "reason"}))
	m := &measure{
		tracer: i.Tracer, duration: map[operation]prometheus.Observer{}, errors: map[operation]map[errorClass]prometheus.Counter{},
	}
	for _, op := range operations() {
		m.duration[op] = duration.WithLabelValues(i.Client, string(op))
		m.errors[op] = map[errorClass]prometheus.Counter{}
		for _, reason := range troubles() {
			m.errors[op][reason] = failures.WithLabelValues(i.Client, string(op), string(reason))
		}
	}
	return m
}

// note notes a conversation that is over.
func (m *measure) note(op operation, began time.Time, span telemetry.Span, err error) {
	m.duration[op].Observe(time.Since(began).Seconds())
	// A server need not know all that the client introduces itself with.
	if reason := troubleOf(err); reason != "" && (op != opConnect || reason != troubleServer) {
		m.errors[op][reason].Inc()
		span.SetError(string(reason))
	}
	span.End()
}

func (m *measure) begin(ctx context.Context, name string) (context.Context, telemetry.Span) {
	if m.tracer == nil {
		return ctx, telemetry.Span{}
	}
	// Keys name DAOs and voters, and values hold what was asked: neither is told.
	return m.tracer.Start(ctx, "redis "+name, trace.SpanKindClient,
		attribute.String("db.system.name", "redis"), attribute.String("db.operation.name", name))
}

// DialHook implements redis.Hook.
func (m *measure) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		began := time.Now()
		conn, err := next(ctx, network, address)
		m.note(opConnect, began, telemetry.Span{}, err)
		return conn, err
	}
}

// ProcessHook implements redis.Hook.
func (m *measure) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, command redis.Cmder) error {
		began := time.Now()
		ctx, span := m.begin(ctx, command.Name())
		err := next(ctx, command)
		m.note(operationOf(command.Name()), began, span, err)
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
		op := opPipeline
		if len(commands) > 0 && operationOf(commands[0].Name()) == opConnect {
			op = opConnect // the client's own introduction
		}
		m.note(op, began, span, err)
		return err
	}
}
