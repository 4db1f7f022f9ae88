package api

import (
	"cmp"
	"context"
	"log/slog"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/prometheus/client_golang/prometheus"

	"pnyx/access"
	"pnyx/api/apierror"
	"pnyx/api/httpcache"
	"pnyx/governance"
	"pnyx/ratelimit"
	"pnyx/telemetry"
)

// Bounds of the lines about requests, so that a flood of errors does not flood the log.
const (
	maxLinesPerSecond = 100
	lineBurst         = 500
)

// LogOptions chooses the requests that are logged. Errors are always logged.
type LogOptions struct {
	// SampleRate logs one in so many of the requests that neither failed nor were slow; none for 0.
	SampleRate uint64
	// SlowThreshold logs every request that takes at least so long; 0 for no such bound.
	SlowThreshold time.Duration
}

type requestLog struct {
	LogOptions

	logger                       *slog.Logger
	internal                     access.InternalTokens // what no line may contain
	seen                         atomic.Uint64         // requests subject to sampling
	bound                        *ratelimit.Buckets[struct{}]
	written, sampledOut, dropped prometheus.Counter
}

func newRequestLog(o Options) *requestLog {
	lines := telemetry.Counters(o.Metrics, "pnyx_log_requests_total",
		"Requests by log line: written, sampled (another request's line represents it) or dropped (too many lines per second).", "line")
	return &requestLog{
		LogOptions: o.Log, logger: o.Logger, internal: o.Internal, bound: ratelimit.NewBuckets[struct{}](),
		written:    lines.WithLabelValues("written"),
		sampledOut: lines.WithLabelValues("sampled"),
		dropped:    lines.WithLabelValues("dropped"),
	}
}

// write writes the line of a request, or counts that it has none. The line identifies a caller by the id of its
// token only: it has no IP address, no token and no query.
func (l *requestLog) write(ctx context.Context, route string, r *accessRecord) {
	level, sample := l.decide(r)
	rate := ratelimit.Rate{PerMinute: 60 * maxLinesPerSecond, Burst: lineBurst}
	switch {
	case sample == 0:
		l.sampledOut.Inc()
		return
	case !l.bound.Take(struct{}{}, rate, time.Now()).Allowed:
		l.dropped.Inc()
		return
	}
	l.written.Inc()
	l.logger.LogAttrs(ctx, level, "request", l.attributes(route, r, sample)...)
}

// decide returns the level of a request's line, and how many requests it represents: 0 for no line.
func (l *requestLog) decide(r *accessRecord) (level slog.Level, sample uint64) {
	switch {
	case r.failed():
		return slog.LevelWarn, 1
	case r.status >= fiber.StatusBadRequest, l.SlowThreshold > 0 && r.duration >= l.SlowThreshold:
		return slog.LevelInfo, 1
	case l.SampleRate > 0 && l.seen.Add(1)%l.SampleRate == 0:
		return slog.LevelInfo, l.SampleRate
	}
	return slog.LevelInfo, 0
}

// attributes returns the attributes of a line. Empty ones are left out.
func (l *requestLog) attributes(route string, r *accessRecord, sample uint64) []slog.Attr {
	attrs := append(make([]slog.Attr, 0, 16),
		slog.String("request_id", strings.Clone(redact(r.id))), slog.String("method", shownMethod(r.method)),
		slog.String("route", route), slog.Int("status", r.status),
		slog.Float64("duration_ms", float64(r.duration.Microseconds())/1000), slog.Int("bytes", r.bytes))
	text := func(name, value string) {
		if value != "" {
			attrs = append(attrs, slog.String(name, value))
		}
	}
	text("tool", r.tool)
	text("code", string(cmp.Or(r.code(), r.outcome)))
	text("layer", string(r.source()))
	tokenID, plan := r.token()
	text("token_id", tokenID)
	text("plan", string(plan))
	text("trace_id", r.span.TraceID())
	if sample > 1 {
		attrs = append(attrs, slog.Uint64("sample", sample))
	}
	if r.status >= fiber.StatusBadRequest {
		text("path", l.loggedPath(r.path))
	}
	if r.err != nil && r.err.Cause != nil {
		attrs = append(attrs, slog.Any("error", r.err.Cause))
	}
	return attrs
}

// tokenPattern matches what looks like a token, wherever a caller puts it.
var tokenPattern = regexp.MustCompile(`pnyx_\w+`)

// loggedPath returns the part of a path that is logged, in printable ASCII and without tokens, escaped ones
// included.
func (l *requestLog) loggedPath(path string) string {
	const maxLoggedPath = 200 // bounds the part of a path that is logged, in bytes
	if plain, err := url.PathUnescape(path); err == nil {
		segments := strings.Split(plain, "/")
		for i, segment := range segments {
			if l.internal.Accepts(segment) {
				segments[i] = "***"
			}
		}
		if shown := redact(strings.Join(segments, "/")); shown != plain {
			path = shown
		}
	}
	quoted := strconv.QuoteToASCII(path[:min(len(path), maxLoggedPath)])
	return redact(quoted[1 : len(quoted)-1])
}

func redact(text string) string { return tokenPattern.ReplaceAllString(text, "pnyx_***") }

// accessRecord describes an answered request for metrics, log and trace.
type accessRecord struct {
	*requestState

	// method and path are the request's, as part of its memory.
	method, path string
	// status is the HTTP status, and bytes the length of the body as sent.
	status, bytes int
	duration      time.Duration
	// span is the span of the request; the zero span records nothing.
	span telemetry.Span
}

func accessRecordOf(c *fiber.Ctx, span telemetry.Span, duration time.Duration) accessRecord {
	r := accessRecord{
		requestState: stateOf(c), method: c.Method(), path: c.Path(),
		status: c.Response().StatusCode(), duration: duration, span: span,
	}
	r.requestID(c)
	if r.method == fiber.MethodGet {
		r.bytes = bodyBytes(c)
	}
	return r
}

func (r *accessRecord) code() apierror.Code {
	if r.err == nil {
		return ""
	}
	return r.err.Code
}

// source returns the layer of the data: empty where none was read, LayerNone where it is not available.
func (r *accessRecord) source() httpcache.Layer {
	switch {
	case r.err == nil:
		return r.layer
	case r.queried && r.err.Code == apierror.CodeUnavailable:
		return httpcache.LayerNone
	}
	return ""
}

func (r *accessRecord) dataReadiness() governance.Readiness {
	if r.source() == httpcache.LayerNone {
		return governance.ReadinessUnavailable
	}
	return r.readiness
}

// token returns the id and plan of the caller's token; only a plan for internal callers and payers, else neither.
func (r *accessRecord) token() (id string, plan ratelimit.Plan) {
	const planInternal ratelimit.Plan = "internal" // logged as the plan of internal callers, who have none
	switch {
	case r.internal:
		return "", planInternal
	case r.charge != nil:
		return "", ratelimit.PayPerRequest
	case r.caller != nil:
		return r.caller.ID, r.caller.Plan
	}
	return "", ""
}

func (r *accessRecord) failed() bool { return r.status >= fiber.StatusInternalServerError }
