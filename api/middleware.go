package api

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/gofiber/fiber/v2/utils"
	"github.com/valyala/fasthttp"

	"pnyx/access"
	"pnyx/access/x402"
)

// maxURLBytes bounds the address of a request: every text parameter at its longest,
// escaped, fits.
const maxURLBytes = 8 << 10

// corsMaxAge is how long a browser may remember what it is allowed to do, in
// seconds.
const corsMaxAge = "86400"

// HeaderServerTiming says how long an answer took.
const HeaderServerTiming = "Server-Timing"

// corsAllowHeaders are what a script of another origin may send.
const corsAllowHeaders = access.HeaderToken + ", " + x402.HeaderPayment + ", " + fiber.HeaderIfNoneMatch + ", " + HeaderRequestID

// setCommonHeaders sets what every answer carries, whatever it is.
func setCommonHeaders(c *fiber.Ctx) {
	setHeader(c, HeaderRequestID, requestID(c))
	setHeader(c, fiber.HeaderAccessControlAllowOrigin, "*")
	setHeader(c, fiber.HeaderAccessControlExposeHeaders, "*")
	setHeader(c, fiber.HeaderXContentTypeOptions, "nosniff")
}

// setHeader sets a header that is sent as it is, and under the very name: a caller's
// text has no place in it unless it is escaped.
func setHeader(c *fiber.Ctx, name, value string) {
	c.Response().Header.SetCanonical(utils.UnsafeBytes(name), utils.UnsafeBytes(value))
}

// preflight answers what may be asked of a path.
func preflight(c *fiber.Ctx) error {
	setCommonHeaders(c)
	c.Set(fiber.HeaderAllow, strings.Join(allowedMethods(), ", "))
	c.Set(fiber.HeaderAccessControlAllowMethods, strings.Join(allowedMethods(), ", "))
	c.Set(fiber.HeaderAccessControlAllowHeaders, corsAllowHeaders)
	c.Set(fiber.HeaderAccessControlMaxAge, corsMaxAge)
	c.Status(http.StatusNoContent)
	return nil
}

// limitURL refuses addresses that nothing here can have.
func limitURL(c *fiber.Ctx) error {
	if got := len(c.Request().RequestURI()); got > maxURLBytes {
		return &Error{
			Status: http.StatusRequestURITooLong, Code: CodeValidation,
			Message: fmt.Sprintf("the address has %d bytes, at most %d are read", got, maxURLBytes),
			Details: map[string]any{"given": got, "allowed": maxURLBytes},
		}
	}
	return c.Next()
}

// setTiming tells how long the answer took on this node.
func setTiming(c *fiber.Ctx, took time.Duration) {
	var room [32]byte
	text := append(room[:0], "app;dur="...)
	text = strconv.AppendInt(text, took.Microseconds()/1000, 10)
	text = append(text, '.')
	thousandths := took.Microseconds() % 1000
	text = append(text, byte('0'+thousandths/100), byte('0'+thousandths/10%10), byte('0'+thousandths%10))
	c.Response().Header.SetBytesV(HeaderServerTiming, text)
}

// wrapHandler answers methods that Fiber has never heard of, which it would answer with
// a plain text of its own, and closes connections behind answers of a node that is
// about to end.
func (a *API) wrapHandler(next fasthttp.RequestHandler) fasthttp.RequestHandler {
	return func(request *fasthttp.RequestCtx) {
		a.rewriteEdgeRequest(request)
		defer func() {
			if a.draining.Load() {
				request.SetConnectionClose()
			}
		}()
		if slices.Contains(fiber.DefaultMethods, string(request.Method())) {
			next(request)
			return
		}
		c := a.app.AcquireCtx(request)
		defer a.app.ReleaseCtx(c)
		c.Set(fiber.HeaderAllow, strings.Join(allowedMethods(), ", "))
		if err := a.handleError(c, fiber.ErrMethodNotAllowed); err != nil {
			request.Error(http.StatusText(http.StatusInternalServerError), http.StatusInternalServerError)
		}
	}
}

// maxMethod bounds what of a caller's method is shown.
const maxMethod = 20

// method is a copy of the request's method, fit to be shown.
func method(c *fiber.Ctx) string {
	name := strings.ToValidUTF8(c.Method(), "")
	return strings.Clone(name[:min(len(name), maxMethod)])
}
