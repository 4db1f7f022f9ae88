package api

import (
	"bytes"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"

	"pnyx/api/apierror"
	"pnyx/api/httpcache"
)

// Mount has a handler of another package answer every request to a path, with a slash at its end
// or without, with JSON, whatever its method; its errors are answered as routes' errors. name is the path in metrics, and
// maxBody bounds the body of a request in bytes. Mount is called before Serve.
func (a *API) Mount(path, name string, maxBody int, handler fiber.Handler) {
	for _, path := range []string{path, path + "/"} {
		a.mounted[path] = maxBody
		a.metrics.addRoute(path, name)
		a.app.All(path, func(c *fiber.Ctx) error {
			setCommonHeaders(c, stateOf(c))
			c.Response().Header.SetContentType(fiber.MIMEApplicationJSON)
			c.Set(fiber.HeaderCacheControl, httpcache.NoStore)
			return handler(c)
		})
	}
}

// MountPages has a handler of another package answer GET and HEAD requests to a path, which
// may have parameters, with pages for people. name is the path in metrics and logs.
// MountPages is called before Serve.
func (a *API) MountPages(path, name string, handler fiber.Handler) {
	a.metrics.addRoute(path, name)
	a.handleGet(path, handler)
}

// bodyLimit returns how a request is read whose headers are known: a path that is mounted
// may have another bound on its body.
func (a *API) bodyLimit(header *fasthttp.RequestHeader) fasthttp.RequestConfig {
	path, _, _ := bytes.Cut(header.RequestURI(), []byte("?"))
	return fasthttp.RequestConfig{MaxRequestBodySize: a.mounted[string(path)]}
}

// NoteTool has the log line of a request to a mounted path name the tool that was called, and
// the code of the error that the tool answered with; empty for data.
func NoteTool(c *fiber.Ctx, tool string, outcome apierror.Code) {
	s := stateOf(c)
	s.tool, s.outcome = tool, outcome
}

// Refuse returns the error to send for a request to a mounted path that is refused before
// a route is read: the given one, or 429 when too many of the client's were.
func (a *API) Refuse(c *fiber.Ctx, refused *apierror.Error) *apierror.Error {
	return a.admission.limitRefusal(c, stateOf(c), refused)
}
