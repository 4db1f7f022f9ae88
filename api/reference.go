package api

import (
	"bytes"
	"compress/gzip"
	"embed"
	"fmt"
	"io"
	"path"
	"strings"

	"github.com/gofiber/fiber/v2"
)

// referenceFiles are the interactive reference: our page around Swagger UI, which
// comes gzipped from npm.
//
//go:embed reference
var referenceFiles embed.FS

// referencePolicy lets the reference load what this node serves, and nothing else.
// Swagger UI draws its icons from data: addresses.
const referencePolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// registerReference registers the page and the files that it is made of.
func (a *API) registerReference() {
	page := serveDocument(fiber.MIMETextHTMLCharsetUTF8, referenceFile("index.html"))
	a.handleGet(pathDocs, func(c *fiber.Ctx) error {
		c.Set(fiber.HeaderContentSecurityPolicy, referencePolicy)
		c.Set(fiber.HeaderReferrerPolicy, "no-referrer")
		return page(c)
	})
	a.handleGet(pathDocs+"/", func(c *fiber.Ctx) error {
		setDocumentCaching(c)
		return c.Redirect(pathDocs, fiber.StatusMovedPermanently)
	})
	for name, kind := range referenceKinds() {
		a.handleGet(referencePath(name), serveDocument(kind, referenceFile(name)))
	}
}

// referenceKinds are the media types of the files that the page loads.
func referenceKinds() map[string]string {
	return map[string]string{
		"start.js":                "text/javascript; charset=utf-8",
		"style.css":               "text/css; charset=utf-8",
		"icon.svg":                "image/svg+xml",
		"swagger-ui.css.gz":       "text/css; charset=utf-8",
		"swagger-ui-bundle.js.gz": "text/javascript; charset=utf-8",
	}
}

// referencePath is where a file is served: unpacked, under the name it had before.
func referencePath(name string) string {
	return pathDocs + "/" + strings.TrimSuffix(name, ".gz")
}

// referenceFile reads a file of the reference; one that is kept gzipped is unpacked.
func referenceFile(name string) func() ([]byte, error) {
	return func() ([]byte, error) {
		text, err := referenceFiles.ReadFile("reference/" + name)
		if err != nil {
			return nil, fmt.Errorf("read the reference: %w", err)
		}
		if path.Ext(name) != ".gz" {
			return text, nil
		}
		unpacked, err := gzip.NewReader(bytes.NewReader(text))
		if err != nil {
			return nil, fmt.Errorf("unpack the reference: %w", err)
		}
		return io.ReadAll(unpacked)
	}
}
