package api

import (
	"context"
	"log/slog"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/gofiber/fiber/v2/utils"
	"github.com/prometheus/client_golang/prometheus"

	"pnyx/telemetry"
)

// fastLane answers the most frequent requests where they arrive, before fasthttp reads
// them: those for a free answer of which the node has a copy, with headers that do not
// change it. It counts, limits and logs them as serve and observe do, and sends the same
// bytes. Everything else it leaves to fasthttp.
type fastLane struct {
	api     *API
	buffers sync.Pool
	date    atomic.Pointer[httpDate]
	taken   prometheus.Counter
}

func newFastLane(a *API, metrics prometheus.Registerer) *fastLane {
	return &fastLane{
		api: a,
		buffers: sync.Pool{New: func() any {
			buffer := make([]byte, 0, writeBufferBytes)
			return &buffer
		}},
		taken: telemetry.Register(metrics, prometheus.NewCounter(prometheus.CounterOpts{
			Name: "pnyx_http_fast_lane_total",
			Help: "Requests answered as they arrived, without a router: free answers that the node has a copy of.",
		})),
	}
}

// laneAnswer is what all answers of the lane from one copy have in common.
type laneAnswer struct {
	// head has the headers of writeHead and the name of X-Request-Id, whose value follows.
	head []byte
	// link is the header after X-Request-Id; empty for none.
	link []byte
}

// newLaneAnswer returns nil for an answer that the lane leaves to fasthttp.
func (r *rendered) newLaneAnswer(route *Route) *laneAnswer {
	if route.Tier != Free || route.TokenOnly || r.live || r.empty || len(r.data) > maxBufferedData {
		return nil
	}
	lane := &laneAnswer{}
	for _, header := range r.commonHeaders(route) {
		lane.head = appendHeader(lane.head, header.name, header.value)
	}
	lane.head = append(lane.head, HeaderRequestID+": "...)
	if r.link != "" {
		lane.link = appendHeader(nil, fiber.HeaderLink, r.link)
	}
	return lane
}

// answer answers a request, and reports whether it did.
func (l *fastLane) answer(c *laneConn, request laneRequest) (answered bool, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			l.api.log.logger.LogAttrs(context.Background(), slog.LevelError, "fast lane failed, request left to the router", slog.Any("error", cause))
			answered, err = false, nil
		}
	}()
	a := l.api
	if a.tracer != nil || a.draining.Load() {
		return false, nil
	}
	known, _ := a.parseCache.requests.GetIfPresent(utils.UnsafeString(request.target))
	if known == nil {
		return false, nil
	}
	found, ok := a.local.get(known.request.name)
	if !ok || found.lane == nil || found.target != utils.UnsafeString(request.target) ||
		request.encoding == encodingOther && found.bodyBytes >= compressMinBytes {
		return false, nil
	}
	began := time.Now()
	s, _ := states.Get().(*requestState)
	defer releaseState(s)
	s.route, s.metrics, s.now = known.request.route, known.metrics, a.now()
	s.queried, s.layer, s.readiness = true, layerLocal, a.readiness(found, s.now)
	if s.readiness != found.view.Readiness || a.sharedLifetime(s.route, found, s.readiness) != found.lifetime {
		return false, nil
	}
	s.limited = true
	if s.address = a.addresses.TryTake(c.peer, "", s.now); !s.address.Allowed {
		return false, nil // fasthttp refuses it
	}
	newRequestID(&s.newID)
	s.id = utils.UnsafeString(s.newID[:])
	a.metrics.inFlight.Inc()
	defer a.metrics.inFlight.Dec()
	return l.send(c, s, found, request.encoding, began)
}

// send sends an answer and records it.
func (l *fastLane) send(c *laneConn, s *requestState, found *rendered, encoding string, began time.Time) (sent bool, err error) {
	bytes, compressed := found.bodyBytes, (*packed)(nil)
	if encoding == encodingGzip && found.compresses(s) {
		if compressed, err = found.packed(); err != nil {
			return false, nil // fasthttp answers, and reports it
		}
		bytes = compressed.bytes(bytes)
	}
	buffer, _ := l.buffers.Get().(*[]byte)
	defer l.buffers.Put(buffer)
	text := append((*buffer)[:0], "HTTP/1.1 200 OK\r\nDate: "...)
	text = append(text, l.dateOf(began)...)
	text = append(text, "\r\nContent-Type: "+fiber.MIMEApplicationJSONCharsetUTF8+"\r\n"...)
	if compressed != nil {
		text = append(text, fiber.HeaderContentEncoding+": "+encodingGzip+"\r\n"...)
	}
	text = strconv.AppendInt(append(text, fiber.HeaderContentLength+": "...), int64(bytes), 10)
	text = append(append(text, "\r\n"...), found.lane.head...)
	text = append(append(append(text, s.id...), "\r\n"...), found.lane.link...)
	if l.api.freePolicy != "" {
		text = appendHeader(text, HeaderRateLimitPolicy, l.api.freePolicy)
		text = appendFreeLimit(append(text, HeaderRateLimit+": "...), s)
		text = append(text, "\r\n"...)
	}
	duration := time.Since(began)
	text = append(appendTiming(append(text, HeaderServerTiming+": "...), duration), "\r\n\r\n"...)
	if compressed != nil {
		text = compressed.appendRest(append(text, compressed.head...), s)
	} else {
		text = found.appendTail(append(append(text, envelopeStart...), found.data...), s)
	}
	*buffer = text
	r := accessRecord{requestState: s, method: http.MethodGet, status: http.StatusOK, bytes: bytes, duration: duration}
	l.taken.Inc()
	l.api.metrics.count(s.metrics, &r)
	l.api.log.write(context.Background(), s.metrics.id, &r)
	return true, c.write(text, began)
}

// appendHeader appends a line of a header. Its texts are not escaped.
func appendHeader(text []byte, name, value string) []byte {
	text = append(append(append(text, name...), ": "...), value...)
	return append(text, "\r\n"...)
}

// httpDate is a time as the Date header has it.
type httpDate struct {
	second int64
	text   []byte
}

// dateOf returns a time as the Date header has it. Formatting it takes as long as the rest
// of the header.
func (l *fastLane) dateOf(now time.Time) []byte {
	if date := l.date.Load(); date != nil && date.second == now.Unix() {
		return date.text
	}
	date := &httpDate{now.Unix(), now.UTC().AppendFormat(nil, http.TimeFormat)}
	l.date.Store(date)
	return date.text
}
