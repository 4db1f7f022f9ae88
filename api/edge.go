package api

import (
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
	"pnyx/governance"
)

// PathAuthorize, before the address of a route, is where an edge asks whether it
// may answer a request. The node does all that it would do for the caller himself
// and answers him, but for the body of a paid answer: in its place stands, as
// X-Accel-Redirect, below PathBody, the name under which the edge may hold it. To
// those without an internal token there is nothing here.
const (
	PathAuthorize = "/internal/edge/authorize"
	PathBody      = "/edge/body/"
)

// HeaderFill names the body that an edge lacks. An internal caller that sends it is
// told, by X-Accel-Expires, how long to keep the answer.
const HeaderFill = "X-Edge-Fill"

// HeaderTime is the edge's clock, in seconds, when it asks for an answer that is
// everyone's.
const HeaderTime = "X-Edge-Time"

// The headers by which a node tells an edge what to do.
const (
	headerAccelRedirect = "X-Accel-Redirect"
	headerAccelExpires  = "X-Accel-Expires"
)

// edgeBodyTTL is how long an edge may hold a paid body. The name changes with
// everything that publication changes; an hour bounds what a release of ours does.
const edgeBodyTTL = time.Hour

// edgeRequestKey marks a request that an edge asks about.
type edgeRequestKey struct{}

// rewriteEdgeRequest turns a question of an edge into the request it is about. One that
// cannot prove to be an edge's stays what it is: a path that does not exist.
func (a *API) rewriteEdgeRequest(request *fasthttp.RequestCtx) {
	target, asks := strings.CutPrefix(string(request.RequestURI()), PathAuthorize)
	token := string(request.Request.Header.Peek(access.HeaderInternal))
	if !asks || !strings.HasPrefix(target, "/") || !a.internal.Accepts(token) {
		return
	}
	request.Request.Header.Del(access.HeaderInternal)
	request.Request.SetRequestURI(target)
	request.SetUserValue(edgeRequestKey{}, true)
}

// delegatesToEdge says whether the edge sends the body of an answer. Only what a token
// has opened is: a payment buys its own bytes.
func (p *requestState) delegatesToEdge(c *fiber.Ctx) bool {
	return c.Locals(edgeRequestKey{}) != nil && p.route.Paid() && p.caller != nil && c.Method() == fiber.MethodGet
}

// delegateToEdge permits the edge to answer, and tells it with what. The permission is
// the answer that counts: it is metered here, and the body is not.
func (a *API) delegateToEdge(c *fiber.Ctx, p *requestState, values Values, found *rendered, readiness governance.Readiness) error {
	p.delegatedBytes = len(found.data)
	setCommonHeaders(c)
	c.Set(headerAccelRedirect, PathBody+edgeBodyKey(values, found, readiness))
	c.Status(http.StatusOK)
	return nil
}

// setBodyExpiry answers an edge that lacks a body. One that is not the body it
// was permitted to send, since the node knows of another publication, is not kept.
func (a *API) setBodyExpiry(c *fiber.Ctx, p *requestState, values Values, found *rendered, readiness governance.Readiness) {
	if !p.internal {
		return
	}
	name := c.Get(HeaderFill)
	if name == "" {
		return
	}
	keep := 0
	if name == edgeBodyKey(values, found, readiness) {
		keep = seconds(edgeBodyTTL)
	}
	c.Set(headerAccelExpires, strconv.Itoa(keep))
}

// setAccelExpires has an edge keep what is everyone's no longer than for a lifetime.
// nginx adds up to a second to what Cache-Control says, but not to a moment, which
// is told by its own clock.
func setAccelExpires(c *fiber.Ctx, lifetime time.Duration) {
	seconds, _, _ := strings.Cut(c.Get(HeaderTime), ".")
	if now, err := strconv.ParseInt(seconds, 10, 64); err == nil {
		c.Set(headerAccelExpires, fmt.Sprintf("@%d", now+int64(lifetime/time.Second)-1))
	}
}

// edgeBodyKey names an answer by all that its bytes depend on but for the request's id
// and time. It is a cryptographic hash: callers choose what is hashed, and must not
// be able to have one answer pass for another.
func edgeBodyKey(values Values, found *rendered, readiness governance.Readiness) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%s\x00%d\x00%d\x00%s", SurfaceVersion, values.canonical(),
		found.view.Revision, found.view.DataAsOf, readiness))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// EdgeFailure is an answer that an edge has to give by itself, as the nodes would
// have given it.
type EdgeFailure struct {
	Body []byte
	// RetryAfter is in seconds; zero for none.
	RetryAfter int
}

// NewEdgeFailure returns the answer with a status: 503 when no node can be reached,
// and one of 4xx for what is no request. Method and request id are what the
// edge puts in there.
func NewEdgeFailure(status int, method, requestID string) (EdgeFailure, error) {
	e := malformedRequest(status)
	switch status {
	case http.StatusServiceUnavailable:
		e = unavailable(nil)
	case http.StatusNotFound:
		e = &Error{Status: status, Code: CodeNotFound, Message: "no such path"}
	case http.StatusMethodNotAllowed:
		e = methodNotAllowed(method)
	}
	body, err := json.Marshal(e.envelope(requestID))
	if err != nil {
		return EdgeFailure{}, fmt.Errorf("encode an answer of the edge: %w", err)
	}
	return EdgeFailure{Body: body, RetryAfter: seconds(e.RetryAfter)}, nil
}
