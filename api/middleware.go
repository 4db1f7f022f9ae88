package api

import (
	"net/http"
	"slices"
	"strings"

	"github.com/gofiber/fiber/v2"
	"github.com/gofiber/fiber/v2/utils"
	"github.com/valyala/fasthttp"

	"pnyx/access"
	"pnyx/access/x402"
	"pnyx/api/apierror"
	"pnyx/api/param"
	"pnyx/api/wire"
)

// HeaderServerTiming holds how long the answer took.
const HeaderServerTiming = "Server-Timing"

// corsAllowHeaders lists the request headers that cross-origin scripts may send. The published x402 client sends a
// header of answers with each payment.
const corsAllowHeaders = access.HeaderToken + ", " + x402.HeaderPayment + ", " + HeaderFormerPayment + ", " +
	fiber.HeaderAccessControlExposeHeaders + ", " + fiber.HeaderIfNoneMatch + ", " + fiber.HeaderRange + ", " + fiber.HeaderIfRange + ", " + HeaderLastEventID + ", " + HeaderRequestID

func setCommonHeaders(c *fiber.Ctx, s *requestState) {
	setHeader(c, HeaderRequestID, s.requestID(c))
	for _, constant := range constantHeaders() {
		setHeader(c, constant.name, constant.value)
	}
}

// constantHeaders returns the headers that are the same in every answer.
func constantHeaders() []header {
	return []header{
		{fiber.HeaderAccessControlAllowOrigin, "*"},
		{fiber.HeaderAccessControlExposeHeaders, "*"},
		{fiber.HeaderXContentTypeOptions, "nosniff"},
	}
}

// setHeader sets a header without normalizing its name. value must not contain unescaped caller input.
func setHeader(c *fiber.Ctx, name, value string) {
	c.Response().Header.SetCanonical(utils.UnsafeBytes(name), utils.UnsafeBytes(value))
}

func preflight(c *fiber.Ctx) error {
	const corsMaxAge = "86400" // how long a browser may cache a preflight, in seconds
	setCommonHeaders(c, stateOf(c))
	methods := strings.Join(apierror.AllowedMethods(), ", ")
	c.Set(fiber.HeaderAllow, methods)
	c.Set(fiber.HeaderAccessControlAllowMethods, methods)
	c.Set(fiber.HeaderAccessControlAllowHeaders, corsAllowHeaders)
	c.Set(fiber.HeaderAccessControlMaxAge, corsMaxAge)
	c.Status(http.StatusNoContent)
	return nil
}

// maxNegotiationBytes bounds headers that take quadratic time to sort. Browsers send a tenth of it.
const maxNegotiationBytes = 1 << 10

// limitRequest rejects requests with an address longer than maxURLBytes or headers longer than
// maxNegotiationBytes.
func limitRequest(c *fiber.Ctx) error {
	const maxURLBytes = 8 << 10 // bounds the request URI: all text parameters at their longest, escaped, fit
	if got := len(c.Request().Header.RequestURI()); got > maxURLBytes {
		return tooLong(http.StatusRequestURITooLong, "address", got, maxURLBytes)
	}
	if len(c.Request().Header.RawHeaders()) <= maxNegotiationBytes {
		return nil
	}
	for _, name := range []string{fiber.HeaderAccept, fiber.HeaderAcceptEncoding} {
		if got := len(c.Get(name)); got > maxNegotiationBytes {
			return tooLong(http.StatusRequestHeaderFieldsTooLarge, "header "+name, got, maxNegotiationBytes)
		}
	}
	return nil
}

func tooLong(status int, what string, got, most int) *apierror.Error {
	return apierror.New(status, apierror.CodeValidation, map[string]any{"allowed": most, "given": got},
		"the %s has %d bytes, at most %d are read", what, got, most)
}

// encodedBody is the error of a request with any Content-Encoding: a small body could decode to any length.
func encodedBody() *apierror.Error {
	return &apierror.Error{
		Status: http.StatusUnsupportedMediaType, Code: apierror.CodeValidation,
		Message: "encoded bodies are not read: send the body as it is, without Content-Encoding",
		Details: apierror.HeaderDetails{Header: strings.ToLower(fiber.HeaderContentEncoding)},
		Headers: map[string]string{fiber.HeaderAcceptEncoding: "identity"},
	}
}

// wrapHandler wraps the handler of Fiber. It rewrites requests of an edge, closes connections while the node
// drains, and answers what must not reach Fiber: requests with an ambiguous end or an encoded body, and methods
// that Fiber does not know, to which it would send a plain text.
func (a *API) wrapHandler(next fasthttp.RequestHandler) fasthttp.RequestHandler {
	return func(request *fasthttp.RequestCtx) {
		if problem := wire.FramingProblem(&request.Request.Header); problem != nil {
			a.refuse(request, apierror.Validation([]param.Problem{*problem}, 0))
			request.SetConnectionClose()
			return
		}
		if len(request.Request.Header.PeekAll(fiber.HeaderContentEncoding)) > 0 {
			a.refuse(request, encodedBody())
			return
		}
		s := newState(request)
		a.admission.rewriteEdgeRequest(request, s)
		defer func() {
			if a.draining.Load() {
				request.SetConnectionClose()
			}
			a.admission.setEdgeTimeout(request, s)
		}()
		if slices.Contains(fiber.DefaultMethods, string(request.Method())) {
			next(request)
			return
		}
		request.Response.Header.Set(fiber.HeaderAllow, strings.Join(apierror.AllowedMethods(), ", "))
		a.refuse(request, fiber.ErrMethodNotAllowed)
	}
}

// refuse answers a request with an error, without the handlers of Fiber.
func (a *API) refuse(request *fasthttp.RequestCtx, refused error) {
	c := a.app.AcquireCtx(request)
	defer a.app.ReleaseCtx(c)
	if err := a.handleError(c, refused); err != nil {
		request.Error(http.StatusText(http.StatusInternalServerError), http.StatusInternalServerError)
	}
}

// shownMethod returns a copy of the method of a request that is valid UTF-8.
func shownMethod(method string) string {
	const maxMethod = 20 // bounds how much of a caller's method is logged and sent, in bytes
	method = strings.ToValidUTF8(method, "")
	return strings.Clone(method[:min(len(method), maxMethod)])
}
