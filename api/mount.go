package api

import (
	"bytes"
	"cmp"
	"net/http"
	"slices"
	"strconv"

	"github.com/cespare/xxhash/v2"
	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"

	"pnyx/access"
	"pnyx/api/apierror"
	"pnyx/api/httpcache"
)

// Mount has a handler of another package answer every request to a path, with or without a slash at its end, with
// JSON, whatever the method; errors are answered as routes' errors. name is the path in metrics, and maxBody
// bounds the body of a request in bytes. Mount is called before Serve.
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

// MountPages has a handler answer GET and HEAD requests to a path, which may have parameters, with pages for
// people. name is the path in metrics and logs. MountPages is called before Serve.
func (a *API) MountPages(path, name string, handler fiber.Handler) {
	a.metrics.addRoute(path, name)
	a.handleGet(path, handler)
}

// bodyLimit bounds the body of a request whose headers are known, for mounted paths as they were mounted.
func (a *API) bodyLimit(header *fasthttp.RequestHeader) fasthttp.RequestConfig {
	path, _, _ := bytes.Cut(header.RequestURI(), []byte("?"))
	return fasthttp.RequestConfig{MaxRequestBodySize: a.mounted[string(path)]}
}

// NoteTool names in the log line of a request the tool that it called, and the code of its error; empty for data.
func NoteTool(c *fiber.Ctx, tool string, outcome apierror.Code) {
	s := stateOf(c)
	s.tool, s.outcome = tool, outcome
}

// Refuse returns the error to send for a request to a mounted path that is refused before a route is read: the
// given one, or 429 when too many of the client's were.
func (a *API) Refuse(c *fiber.Ctx, refused *apierror.Error) *apierror.Error {
	return a.admission.limitRefusal(c, stateOf(c), refused)
}

// varyPages lists the request headers that pages for people depend on.
const varyPages = varyPublic + ", " + access.HeaderToken + ", " + fiber.HeaderAuthorization

// HTML is a page for people, which a handler of MountPages answers with.
type HTML struct {
	// Text is the page, and ContentType its media type; empty for HTML.
	Text        []byte
	ContentType string
	// Header holds further headers of the answer, by name.
	Header map[string]string
	// Error is the error that the page states; nil for a page with data.
	Error *apierror.Error
}

// HasCredentials reports whether a request says who its caller is.
func HasCredentials(c *fiber.Ctx) bool {
	return slices.ContainsFunc([]string{access.HeaderToken, access.HeaderInternal, fiber.HeaderAuthorization},
		func(name string) bool { return c.Get(name) != "" })
}

// SendHTML answers with a page, or with 304 for a caller that has it. A page for a caller with credentials is not
// stored; for others it is public, and as fresh as the data that it shows.
func SendHTML(c *fiber.Ctx, page HTML) error {
	s, fresh, status := stateOf(c), httpcache.Published(), http.StatusOK
	setCommonHeaders(c, s)
	for name, value := range page.Header {
		c.Set(name, value)
	}
	c.Set(fiber.HeaderContentType, cmp.Or(page.ContentType, fiber.MIMETextHTMLCharsetUTF8))
	c.Set(fiber.HeaderVary, varyPages)
	if failed := page.Error; failed != nil {
		setErrorHeaders(c, failed)
		fresh, status = httpcache.Missing(), failed.Status
		logged := *failed
		logged.Cause = nil // is in the line of the route that was read
		s.err = &logged
	}
	control, public := fresh.Public(fresh.SMaxAge), true
	switch {
	case HasCredentials(c):
		control, public = httpcache.PrivateNoStore, false
	case status != http.StatusOK && status != http.StatusNotFound:
		control = httpcache.NoStore
	}
	c.Set(fiber.HeaderCacheControl, control)
	c.Status(status)
	if public && status == http.StatusOK {
		etag := `W/"` + strconv.FormatUint(xxhash.Sum64(page.Text), 36) + `"`
		c.Set(fiber.HeaderETag, etag)
		if httpcache.Matches(c, etag) {
			c.Status(http.StatusNotModified)
			return nil
		}
	}
	return c.Send(page.Text)
}
