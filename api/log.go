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
	mostLinesASecond = 100
	mostLinesAtOnce  = 500
)

// maxLoggedPath bounds what of a path is logged.
const maxLoggedPath = 200

// LogOptions says which requests are logged.
type LogOptions struct {
	// Every says that one in so many requests is logged that neither failed nor was
	// slow; none for 0.
	Every uint64
	// Slow is how long a request takes that is logged in any case; no request for 0.
	Slow time.Duration
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
func (l *requestLog) write(c *fiber.Ctx, route string, v *visit) {
	level, sample := l.judge(v)
	switch {
	case sample == 0:
		l.sampledOut.Inc()
		return
	case !l.bound.Take(struct{}{}, ratelimit.Rate{PerMinute: 60 * mostLinesASecond, Burst: mostLinesAtOnce}, time.Now()).Allowed:
		l.dropped.Inc()
		return
	}
	l.written.Inc()
	l.logger.LogAttrs(c.UserContext(), level, "request", l.describe(c, route, v, sample)...)
}

// judge says how severe the line is, and for how many requests it stands: for none
// that is not to be written.
func (l *requestLog) judge(v *visit) (level slog.Level, sample uint64) {
	switch {
	case v.failed():
		return slog.LevelWarn, 1
	case v.status >= fiber.StatusBadRequest, l.Slow > 0 && v.took >= l.Slow:
		return slog.LevelInfo, 1
	case l.Every > 0 && l.seen.Add(1)%l.Every == 0:
		return slog.LevelInfo, l.Every
	}
	return slog.LevelInfo, 0
}

func (l *requestLog) describe(c *fiber.Ctx, route string, v *visit, sample uint64) []slog.Attr {
	attrs := append(make([]slog.Attr, 0, 16),
		slog.String("request_id", masked(requestID(c))), slog.String("method", method(c)), slog.String("route", route),
		slog.Int("status", v.status), slog.Float64("duration_ms", float64(v.took.Microseconds())/1000), slog.Int("bytes", v.bytes))
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
	if v.failure != nil && v.failure.Cause != nil {
		attrs = append(attrs, slog.Any("error", v.failure.Cause))
	}
	return attrs
}

// tokenForm is what looks like a token, wherever somebody has put it.
var tokenForm = regexp.MustCompile(`pnyx_\w+`)

// loggedPath is a path, fit for the log.
func loggedPath(path string) string {
	return masked(strings.ToValidUTF8(path[:min(len(path), maxLoggedPath)], ""))
}

func masked(text string) string {
	return tokenForm.ReplaceAllString(text, "pnyx_***")
}
