package api

import (
	"log/slog"
	"regexp"
	"strings"
	"sync/atomic"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/prometheus/client_golang/prometheus"

	"pnyx/ratelimit"
	"pnyx/telemetry"
)

// mostLines is how many lines about requests are written in a second and at once, so
// that a flood of errors does not become one of lines.
const (
	maxLinesPerSecond = 100
	lineBurst         = 500
)

// maxLoggedPath bounds what of a path is logged.
const maxLoggedPath = 200

// LogOptions says which requests are logged.
type LogOptions struct {
	// SampleRate says that one in so many requests is logged that neither failed nor was
	// slow; none for 0.
	SampleRate uint64
	// SlowThreshold is how long a request takes that is logged in any case; no request for 0.
	SlowThreshold time.Duration
}

// requestLog writes a line about a request: about one in so many of those that went
// well, and about all others.
type requestLog struct {
	LogOptions

	logger                       *slog.Logger
	seen                         atomic.Uint64
	bound                        *ratelimit.Buckets[struct{}]
	written, sampledOut, dropped prometheus.Counter
}

func newRequestLog(o Options) *requestLog {
	lines := telemetry.Register(o.Metrics, prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "pnyx_log_requests_total",
		Help: "Requests by what the log has of them: written, sampled (one in so many stands for them), or dropped (there were too many).",
	}, []string{"line"}))
	return &requestLog{
		LogOptions: o.Log, logger: o.Logger, bound: ratelimit.NewBuckets[struct{}](),
		written: lines.WithLabelValues("written"), sampledOut: lines.WithLabelValues("sampled"), dropped: lines.WithLabelValues("dropped"),
	}
}

// write writes the line of a request, or counts that there is none. It tells nothing
// of a caller but the id of a token: no address, no token, and no query.
func (l *requestLog) write(c *fiber.Ctx, route string, v *accessRecord) {
	level, sample := l.decide(v)
	switch {
	case sample == 0:
		l.sampledOut.Inc()
		return
	case !l.bound.Take(struct{}{}, ratelimit.Rate{PerMinute: 60 * maxLinesPerSecond, Burst: lineBurst}, time.Now()).Allowed:
		l.dropped.Inc()
		return
	}
	l.written.Inc()
	l.logger.LogAttrs(c.UserContext(), level, "request", l.attributes(c, route, v, sample)...)
}

// decide says how severe the line is, and for how many requests it stands: for none
// that is not to be written.
func (l *requestLog) decide(v *accessRecord) (level slog.Level, sample uint64) {
	switch {
	case v.failed():
		return slog.LevelWarn, 1
	case v.status >= fiber.StatusBadRequest, l.SlowThreshold > 0 && v.duration >= l.SlowThreshold:
		return slog.LevelInfo, 1
	case l.SampleRate > 0 && l.seen.Add(1)%l.SampleRate == 0:
		return slog.LevelInfo, l.SampleRate
	}
	return slog.LevelInfo, 0
}

func (l *requestLog) attributes(c *fiber.Ctx, route string, v *accessRecord, sample uint64) []slog.Attr {
	attrs := append(make([]slog.Attr, 0, 16),
		slog.String("request_id", redact(requestID(c))), slog.String("method", method(c)), slog.String("route", route),
		slog.Int("status", v.status), slog.Float64("duration_ms", float64(v.duration.Microseconds())/1000), slog.Int("bytes", v.bytes))
	text := func(name, value string) {
		if value != "" {
			attrs = append(attrs, slog.String(name, value))
		}
	}
	text("code", string(v.code()))
	text("layer", string(v.layer()))
	tokenID, plan := v.caller()
	text("token_id", tokenID)
	text("plan", string(plan))
	text("trace_id", v.span.TraceID())
	if sample > 1 {
		attrs = append(attrs, slog.Uint64("sample", sample))
	}
	if v.failed() {
		text("path", loggedPath(c.Path()))
	}
	if v.err != nil && v.err.Cause != nil {
		attrs = append(attrs, slog.Any("error", v.err.Cause))
	}
	return attrs
}

// tokenPattern is what looks like a token, wherever somebody has put it.
var tokenPattern = regexp.MustCompile(`pnyx_\w+`)

// loggedPath is a path, fit for the log.
func loggedPath(path string) string {
	return redact(strings.ToValidUTF8(path[:min(len(path), maxLoggedPath)], ""))
}

func redact(text string) string {
	return tokenPattern.ReplaceAllString(text, "pnyx_***")
}
