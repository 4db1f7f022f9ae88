package api

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sync"

	"github.com/gofiber/fiber/v2"
	"github.com/klauspost/compress/gzip"
)

// Paths beside the routes: what there is to read about them.
const (
	pathHome    = "/"
	pathSurface = "/v2"
	pathOpenAPI = "/openapi/agent-v2.json"
	pathDocs    = "/docs"
	pathAgents  = "/llms.txt"
	pathCatalog = "/.well-known/api-catalog"
)

// document is a text that a node serves as it is.
type document struct {
	kind   string
	text   []byte
	zipped []byte
	etag   string
}

func newDocument(kind string, text []byte) (document, error) {
	sum := sha256.Sum256(text)
	d := document{kind: kind, text: text, etag: `W/"` + base64.RawURLEncoding.EncodeToString(sum[:12]) + `"`}
	zipper, err := gzip.NewWriterLevel(nil, gzip.BestCompression)
	if err != nil {
		return d, err
	}
	d.zipped, err = encode(zipper, text)
	return d, err
}

// serveDocument returns the handler of a document, which is made when it is asked
// for first.
func serveDocument(kind string, write func() ([]byte, error)) fiber.Handler {
	made := sync.OnceValues(func() (document, error) {
		text, err := write()
		if err != nil {
			return document{}, err
		}
		return newDocument(kind, text)
	})
	return func(c *fiber.Ctx) error {
		d, err := made()
		if err != nil {
			return err
		}
		return d.send(c)
	}
}

func (d document) send(c *fiber.Ctx) error {
	setCommonHeaders(c)
	c.Set(fiber.HeaderContentType, d.kind)
	setDocumentCaching(c)
	c.Set(fiber.HeaderETag, d.etag)
	c.Vary(fiber.HeaderAcceptEncoding)
	if c.Fresh() {
		c.Status(http.StatusNotModified)
		return nil
	}
	if len(d.text) >= compressMinBytes && acceptsGzip(c) {
		c.Set(fiber.HeaderContentEncoding, "gzip")
		return c.Send(d.zipped)
	}
	return c.Send(d.text)
}

// acceptsGzip says whether the caller reads gzip at all: it is there already, and better
// than what could be made for one answer in another encoding.
func acceptsGzip(c *fiber.Ctx) bool {
	return c.Get(fiber.HeaderAcceptEncoding) != "" && c.AcceptsEncodings("gzip") == "gzip"
}

// DocumentPaths lists the documents, which are the same for everyone.
func DocumentPaths() []string {
	paths := []string{pathOpenAPI, pathAgents, pathCatalog, pathDocs}
	for _, file := range slices.Sorted(maps.Keys(referenceKinds())) {
		paths = append(paths, referencePath(file))
	}
	return paths
}

// registerDocuments registers everything there is to read about the routes.
func (a *API) registerDocuments() {
	a.handleGet(pathOpenAPI, serveDocument(fiber.MIMEApplicationJSON, func() ([]byte, error) { return OpenAPI(a.prices) }))
	a.handleGet(pathAgents, serveDocument(fiber.MIMETextPlainCharsetUTF8, func() ([]byte, error) { return agentsGuide(a.prices), nil }))
	a.handleGet(pathCatalog, serveDocument(mimeLinkset, catalog))
	a.handleGet(pathHome, a.home)
	a.registerReference()
}

// handleGet registers a path that is read, and answers preflights.
func (a *API) handleGet(path string, handler fiber.Handler) {
	a.app.Get(path, handler)
	a.app.Options(path, preflight)
}

// home leads people to the reference. For programs there is nothing here, and they
// are told where there is.
func (a *API) home(c *fiber.Ctx) error {
	c.Vary(fiber.HeaderAccept)
	if c.Get(fiber.HeaderAccept) != "" && c.Accepts(fiber.MIMEApplicationJSON, fiber.MIMETextHTML) == fiber.MIMETextHTML {
		setCommonHeaders(c)
		setDocumentCaching(c)
		return c.Redirect(pathDocs, http.StatusFound)
	}
	e := unknownPath(pathHome)
	e.Message = fmt.Sprintf("nothing here: see %s for programs, %s for people", pathOpenAPI, pathDocs)
	return e
}
