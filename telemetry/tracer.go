package telemetry

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// Tracer makes spans. A nil Tracer makes none, and costs nothing.
type Tracer struct {
	tracer   trace.Tracer
	wire     propagation.TraceContext
	shutdown func(context.Context) error
}

// Start begins a span within the one of ctx. Without one there it makes none: work
// in the background is traced only where somebody began a trace with Begin.
func (t *Tracer) Start(ctx context.Context, name string, kind trace.SpanKind, about ...attribute.KeyValue) (context.Context, Span) {
	if t == nil || !trace.SpanContextFromContext(ctx).IsSampled() {
		return ctx, Span{}
	}
	return t.StartRoot(ctx, name, kind, about...)
}

// Begin begins a span, and a trace where ctx is in none.
func (t *Tracer) StartRoot(ctx context.Context, name string, kind trace.SpanKind, about ...attribute.KeyValue) (context.Context, Span) {
	if t == nil {
		return ctx, Span{}
	}
	ctx, span := t.tracer.Start(ctx, name, trace.WithSpanKind(kind), trace.WithAttributes(about...))
	return ctx, Span{span}
}

// Answer begins the span of a request from outside, which says in traceparent and
// tracestate (of carrier) which trace it belongs to. A caller who is trusted decides
// whether it is traced; the trace of any other is only linked to.
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

// Parcel is where a trace stands, as a text that may be kept in a queue; empty
// outside a trace that is recorded.
func (t *Tracer) Inject(ctx context.Context) string {
	if t == nil || !trace.SpanContextFromContext(ctx).IsSampled() {
		return ""
	}
	carrier := propagation.MapCarrier{}
	t.wire.Inject(ctx, carrier)
	return carrier.Get("traceparent")
}

// Unpack continues in ctx the trace of a Parcel.
func (t *Tracer) Extract(ctx context.Context, parcel string) context.Context {
	if t == nil || parcel == "" {
		return ctx
	}
	return t.wire.Extract(ctx, propagation.MapCarrier{"traceparent": parcel})
}

// Span is one step of a trace. The zero Span is none.
type Span struct {
	span trace.Span
}

// Recorded says whether there is anybody to be told about the step.
func (s Span) Recorded() bool {
	return s.span != nil && s.span.IsRecording()
}

// TraceID names the trace, in hexadecimal; empty for none that is recorded.
func (s Span) TraceID() string {
	if !s.Recorded() {
		return ""
	}
	return s.span.SpanContext().TraceID().String()
}

// Describe says what the step turned out to be.
func (s Span) Describe(name string, about ...attribute.KeyValue) {
	if s.Recorded() {
		s.span.SetName(name)
		s.span.SetAttributes(about...)
	}
}

// Count says how many things the step is about.
func (s Span) Count(what string, n int) {
	if s.Recorded() {
		s.span.SetAttributes(attribute.Int(what, n))
	}
}

// Fail marks the step as one that went wrong; reason is from a closed set, and holds
// nothing that a caller has sent.
func (s Span) SetError(reason string) {
	if s.Recorded() {
		s.span.SetStatus(codes.Error, reason)
	}
}

// End ends the step.
func (s Span) End() {
	if s.span != nil {
		s.span.End()
	}
}
