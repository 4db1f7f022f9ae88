package telemetry

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// Tracer creates spans. A nil Tracer creates none, at no cost. It is safe for concurrent use.
type Tracer struct {
	tracer   trace.Tracer
	wire     propagation.TraceContext
	shutdown func(context.Context) error
}

// Start starts a child of the span in ctx. Without a recorded span in ctx it creates none; see StartRoot.
func (t *Tracer) Start(ctx context.Context, name string, kind trace.SpanKind, about ...attribute.KeyValue) (context.Context, Span) {
	if t == nil || !trace.SpanContextFromContext(ctx).IsSampled() {
		return ctx, Span{}
	}
	return t.StartRoot(ctx, name, kind, about...)
}

// StartRoot starts a span, and a new trace if ctx has none.
func (t *Tracer) StartRoot(ctx context.Context, name string, kind trace.SpanKind, about ...attribute.KeyValue) (context.Context, Span) {
	if t == nil {
		return ctx, Span{}
	}
	ctx, span := t.tracer.Start(ctx, name, trace.WithSpanKind(kind), trace.WithAttributes(about...))
	return ctx, Span{span}
}

// StartServer starts the span of an incoming request. It joins the trace in carrier, the headers of the caller, if
// the caller is trusted, who also decides whether it is recorded, and else only links to it.
func (t *Tracer) StartServer(ctx context.Context, carrier propagation.TextMapCarrier, trusted bool) (context.Context, Span) {
	if t == nil {
		return ctx, Span{}
	}
	outer := t.wire.Extract(ctx, carrier)
	options := []trace.SpanStartOption{trace.WithSpanKind(trace.SpanKindServer)}
	if caller := trace.SpanContextFromContext(outer); trusted {
		ctx = outer
	} else if caller.IsValid() {
		options = append(options, trace.WithLinks(trace.Link{SpanContext: caller}))
	}
	ctx, span := t.tracer.Start(ctx, "request", options...)
	return ctx, Span{span}
}

// Inject returns the position in the trace of ctx as a traceparent; empty unless the trace is recorded.
func (t *Tracer) Inject(ctx context.Context) string {
	if t == nil || !trace.SpanContextFromContext(ctx).IsSampled() {
		return ""
	}
	carrier := propagation.MapCarrier{}
	t.wire.Inject(ctx, carrier)
	return carrier.Get("traceparent")
}

// Extract returns ctx within the trace of a text that Inject returned.
func (t *Tracer) Extract(ctx context.Context, traceparent string) context.Context {
	if t == nil || traceparent == "" {
		return ctx
	}
	return t.wire.Extract(ctx, propagation.MapCarrier{"traceparent": traceparent})
}

// Span is one step of a trace. The zero Span records nothing.
type Span struct {
	span trace.Span
}

// Recorded reports whether the span is recorded.
func (s Span) Recorded() bool { return s.span != nil && s.span.IsRecording() }

// TraceID returns the id of the trace in hexadecimal, empty unless it is recorded.
func (s Span) TraceID() string {
	if !s.Recorded() {
		return ""
	}
	return s.span.SpanContext().TraceID().String()
}

// Describe sets the name and attributes of the span, when they are known only afterwards.
func (s Span) Describe(name string, about ...attribute.KeyValue) {
	if s.Recorded() {
		s.span.SetName(name)
		s.span.SetAttributes(about...)
	}
}

// Count sets an integer attribute.
func (s Span) Count(what string, n int) {
	if s.Recorded() {
		s.span.SetAttributes(attribute.Int(what, n))
	}
}

// SetError marks the span as failed. reason is of a closed set, and contains nothing that a caller sent.
func (s Span) SetError(reason string) {
	if s.Recorded() {
		s.span.SetStatus(codes.Error, reason)
	}
}

// End ends the span.
func (s Span) End() {
	if s.span != nil {
		s.span.End()
	}
}
