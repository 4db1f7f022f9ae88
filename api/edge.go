package api

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"

	"pnyx/access"
	"pnyx/access/x402"
	"pnyx/api/apierror"
	"pnyx/api/routes"
	"pnyx/governance"
)

// An edge (nginx) caches answers of paid routes, and requests permission from a node for each use: it sends the
// request of the caller with PathAuthorize before its path. The node does everything that it would do for the
// caller, but sends no body. Instead, the X-Accel-Redirect header holds PathBody and the key under which the edge
// caches it. Without an internal token, these paths do not exist.
const (
	// PathAuthorize precedes the path of a request that an edge requests permission for.
	PathAuthorize = "/internal/edge/authorize"
	// PathBody precedes the key of a body at the edge.
	PathBody = "/edge/body/"
	// PathRange precedes the key of a body of which the edge sends what Range selects.
	PathRange = "/edge/range/"
)

// HeaderFill holds the key of a body that an edge lacks and requests. X-Accel-Expires says how long to keep it.
const HeaderFill = "X-Edge-Fill"

// HeaderTime holds the clock of an edge, in Unix seconds, on requests for answers that it may cache for everyone.
// It is read from trusted proxies only.
const HeaderTime = "X-Edge-Time"

// HeaderTimeout holds how long an edge waits for an answer with a payment, in milliseconds; on answers to
// PathAuthorize, how long a node may take. It is read from internal callers and trusted proxies only.
const HeaderTimeout = "X-Edge-Timeout"

// Headers by which a node instructs nginx.
const (
	headerAccelRedirect = "X-Accel-Redirect"
	headerAccelExpires  = "X-Accel-Expires"
)

// edgeBodyTTL is how long an edge may keep the body of a paid answer. Its key changes with every publication that
// changes it; an hour bounds how long a body of an earlier release is sent.
const edgeBodyTTL = time.Hour

// Bounds of what an edge may say.
const (
	// maxEdgeTimeout is more than any request takes.
	maxEdgeTimeout = time.Hour
	// maxClockDifference is how far the clock of an edge may be from the node's. Callers of a proxy that is no
	// edge have its answers kept for as much longer.
	maxClockDifference = 5 * time.Second
)

// rewriteEdgeRequest turns a request for permission into the request that it is about. Without a valid internal
// token the request is left unchanged, and gets a 404.
func (a *admission) rewriteEdgeRequest(request *fasthttp.RequestCtx, s *requestState) {
	uri := request.RequestURI()
	if !bytes.HasPrefix(uri, []byte(PathAuthorize+"/")) {
		return
	}
	target := string(uri[len(PathAuthorize):])
	if !a.Internal.Accepts(string(request.Request.Header.Peek(access.HeaderInternal))) {
		return
	}
	request.Request.Header.Del(access.HeaderInternal)
	request.Request.SetRequestURI(target)
	s.fromEdge = true
}

// setEdgeTimeout tells an edge how long the node may work on a payment.
func (a *admission) setEdgeTimeout(request *fasthttp.RequestCtx, s *requestState) {
	if s.fromEdge && a.Payments != nil {
		request.Response.Header.Set(HeaderTimeout, strconv.FormatInt(a.Payments.MaxDuration().Milliseconds(), 10))
	}
}

// delegatesToEdge reports whether the edge sends the body: for tokens only. A payment buys its answer's bytes.
func (s *requestState) delegatesToEdge(c *fiber.Ctx) bool {
	return s.fromEdge && s.route.Paid() && s.caller != nil && c.Method() == fiber.MethodGet
}

// delegateToEdge permits the edge to send a number of bytes of a body, and names it below path. The permission
// counts as the answer; the edge's own request for the body does not.
func delegateToEdge(c *fiber.Ctx, s *requestState, r *routes.Request, found *rendered, path string, bytes int) {
	s.delegatedBytes = bytes
	c.Set(headerAccelRedirect, path+edgeBodyKey(r, found, s.readiness))
	c.Status(http.StatusOK)
}

// setBodyExpiry tells an edge that requests a body how long to keep it. The edge must not keep a body with another
// key than requested: the node knows of another publication.
func setBodyExpiry(c *fiber.Ctx, s *requestState, r *routes.Request, found *rendered) {
	key := c.Get(HeaderFill)
	if !s.internal || key == "" {
		return
	}
	ttl := 0
	if key == edgeBodyKey(r, found, s.readiness) {
		ttl = apierror.Seconds(edgeBodyTTL)
	}
	c.Set(headerAccelExpires, strconv.Itoa(ttl))
}

// setAccelExpires tells an edge until when, by its own clock, to keep an answer for all callers: by Cache-Control,
// nginx may keep it a second longer. Only a trusted proxy may state the time, because a cache obeys the result.
func (a *admission) setAccelExpires(c *fiber.Ctx, lifetime time.Duration) {
	clock := c.Get(HeaderTime)
	if clock == "" || !a.isTrusted(c) {
		return
	}
	seconds, _, _ := strings.Cut(clock, ".")
	now, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil || a.now().Sub(time.Unix(now, 0)).Abs() > maxClockDifference {
		return // a proxy that is no edge passes on what its callers send
	}
	c.Set(headerAccelExpires, fmt.Sprintf("@%d", now+int64(lifetime/time.Second)-1))
}

// edgeBodyKey is a hash of everything that a body depends on, except the id and time of
// the request. It is cryptographic because callers choose part of what is hashed, and
// must not be able to make the key of another answer.
//
// dataAsOf is no part of it where there is a revision, as it is none of an ETag: workers make
// a page again that Redis no longer has, of the same rows and later, and nodes have copies of
// different age. The edge would ask for that body again, and one node would not know the key
// that another has given. What the edge has is of the same revision, and its dataAsOf is true.
func edgeBodyKey(r *routes.Request, found *rendered, readiness governance.Readiness) string {
	var digest []byte
	if found.File != nil {
		digest = found.File.Digest
	} else if found.ByContent {
		digest = []byte(found.etag)
	}
	var asOf governance.Timestamp
	if found.View.Revision == 0 {
		asOf = found.View.DataAsOf
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%s\x00%d\x00%d\x00%s\x00%x", SurfaceVersion, r.Canonical(),
		found.View.Revision, asOf, readiness, digest))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// isTrusted reports whether the caller is internal or a trusted proxy.
func (a *admission) isTrusted(c *fiber.Ctx) bool {
	return a.Addresses.TrustsProxy(peerOf(c)) || a.Internal.Accepts(c.Get(access.HeaderInternal))
}

// edgeTimeout returns how long an edge waits, if there is one: zero to maxEdgeTimeout, zero if it is unreadable.
func (a *admission) edgeTimeout(c *fiber.Ctx) (limit time.Duration, stated bool) {
	text := c.Get(HeaderTimeout)
	if text == "" || !stateOf(c).fromEdge && !a.isTrusted(c) {
		return 0, false
	}
	milliseconds, err := strconv.ParseUint(text, 10, 32)
	if err != nil {
		return 0, true
	}
	return min(time.Duration(milliseconds)*time.Millisecond, maxEdgeTimeout), true
}

func (a *admission) edgeBound(c *fiber.Ctx, wait time.Duration) time.Duration {
	if limit, stated := a.edgeTimeout(c); stated {
		return max(0, min(wait, limit-a.RequestTimeout))
	}
	return wait
}

// EdgeFailure is an error that an edge sends itself, equal to a node's error.
type EdgeFailure struct {
	Body []byte
	// RetryAfter is in seconds; zero for none.
	RetryAfter int
}

// checkEdgeTimeout returns why a payment is not taken: the edge that passes it on would give up before it is
// settled, and could not tell the caller its outcome.
func (a *admission) checkEdgeTimeout(c *fiber.Ctx) error {
	waits, stated := a.edgeTimeout(c)
	needed := a.Payments.MaxDuration()
	if !stated || waits >= needed {
		return nil
	}
	return apierror.Unavailable(fmt.Errorf("the edge waits %s for a payment that may take %s: set the same "+
		"X402_VERIFY_TIMEOUT, X402_SETTLE_TIMEOUT and PNYX_REQUEST_TIMEOUT for both", waits, needed))
}

// NewEdgeFailure returns the answer with a status: 503 when no node can be reached, 504 for a payment then, or 4xx
// for a malformed request. method and requestID are not escaped, and may be variables of nginx.
func NewEdgeFailure(status int, method, requestID string) (EdgeFailure, error) {
	e := apierror.Malformed(status)
	switch status {
	case http.StatusServiceUnavailable:
		e = apierror.Unavailable(nil)
	case http.StatusGatewayTimeout:
		e = paymentError(routes.Route{}, x402.ExampleRefusal(x402.Pending))
	case http.StatusUnsupportedMediaType:
		e = encodedBody()
	case http.StatusNotFound:
		e = &apierror.Error{Status: status, Code: apierror.CodeNotFound, Message: "no such path"}
	case http.StatusMethodNotAllowed:
		e = apierror.MethodNotAllowed(method)
	}
	body, err := json.Marshal(e.Envelope(requestID))
	if err != nil {
		return EdgeFailure{}, fmt.Errorf("encode an error of the edge: %w", err)
	}
	return EdgeFailure{Body: body, RetryAfter: apierror.Seconds(e.RetryAfter)}, nil
}
