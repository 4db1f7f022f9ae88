package api

import (
	"cmp"
	"net/http"
	"slices"
	"strconv"

	"github.com/cespare/xxhash/v2"
	"github.com/gofiber/fiber/v2"

	"pnyx/access"
	"pnyx/api/apierror"
	"pnyx/api/httpcache"
)

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

// SendHTML answers a request with a page, or with 304 for a caller that has it. A page for
// a caller with credentials is not stored; for others it is public, and as fresh as
// what it was read from.
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
