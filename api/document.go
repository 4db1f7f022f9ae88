package api

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/http"
	"sync"

	"github.com/gofiber/fiber/v2"
	"github.com/klauspost/compress/gzip"

	"pnyx/api/httpcache"
)

// SurfaceVersion is the version of the HTTP interface. It changes with every path, parameter, field and error.
const SurfaceVersion = "2.18.0"

// Paths of documents, and the prefix of all routes.
const (
	// PathHome is the first page for people.
	PathHome = "/"
	// PathPrefix is before the path of every route.
	PathPrefix = "/v2"
	// PathOpenAPI is the OpenAPI description of the routes.
	PathOpenAPI = "/openapi/agent-v2.json"
	// PathOpenAPIAlias is where directories of APIs look for the same description.
	PathOpenAPIAlias = "/openapi.json"
	// PathDocs is the reference for people. PathDocs/<route id>.md is the page of a route.
	PathDocs = "/docs"
	// PathExplore is where people look at the data.
	PathExplore = "/explore"
	// PathLLMs is the guide for language models.
	PathLLMs = "/llms.txt"
	// PathCatalog is the API catalog of RFC 9727.
	PathCatalog = "/.well-known/api-catalog"
	// PathRobots tells crawlers what to leave alone.
	PathRobots = "/robots.txt"
	// PathRegistry describes the tools for agents to the MCP Registry.
	PathRegistry = "/server.json"
)

// Document is a text that a node serves unchanged to every caller.
type Document struct {
	Path        string
	ContentType string
	// Header holds further headers of the answer, by name.
	Header map[string]string
	// Render returns the text. It is called at most once, by the first request.
	Render func() ([]byte, error)
	// RenderExamples replaces Render for a document with examples of requests. It is called again when the
	// examples have changed; while there are none, caches do not keep the text.
	RenderExamples func(Examples) ([]byte, error)
}

// renderedDocument is a document ready to be sent, plain and compressed.
type renderedDocument struct {
	Document

	text, gzipped []byte
	etag          string
	// provisional says that the text has no examples yet.
	provisional bool
}

func (d Document) render(examples Examples) (*renderedDocument, error) {
	render := d.Render
	if d.RenderExamples != nil {
		render = func() ([]byte, error) { return d.RenderExamples(examples) }
	}
	text, err := render()
	if err != nil {
		return nil, fmt.Errorf("render %s: %w", d.Path, err)
	}
	zipper, err := gzip.NewWriterLevel(nil, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	gzipped, err := httpcache.Encode(zipper, text)
	if err != nil {
		return nil, fmt.Errorf("compress %s: %w", d.Path, err)
	}
	sum := sha256.Sum256(text)
	return &renderedDocument{
		Document: d, text: text, gzipped: gzipped,
		etag:        `W/"` + base64.RawURLEncoding.EncodeToString(sum[:12]) + `"`,
		provisional: d.RenderExamples != nil && examples == Examples{},
	}, nil
}

// renderer returns a function that renders the document, and keeps it while the examples stay the same.
func (d Document) renderer() func(Examples) (*renderedDocument, error) {
	var mu sync.Mutex
	var kept *renderedDocument
	var of Examples
	return func(examples Examples) (*renderedDocument, error) {
		mu.Lock()
		defer mu.Unlock()
		if kept != nil && of == examples {
			return kept, nil
		}
		rendered, err := d.render(examples)
		if err != nil {
			return nil, err
		}
		kept, of = rendered, examples
		return kept, nil
	}
}

// send writes the document, or 304 for a caller that has it.
func (d *renderedDocument) send(c *fiber.Ctx) error {
	setCommonHeaders(c, stateOf(c))
	for name, value := range d.Header {
		c.Set(name, value)
	}
	c.Set(fiber.HeaderContentType, d.ContentType)
	setDocumentCaching(c)
	if d.provisional {
		c.Set(fiber.HeaderCacheControl, httpcache.NoStore)
	}
	c.Set(fiber.HeaderETag, d.etag)
	c.Vary(fiber.HeaderAcceptEncoding)
	if httpcache.Matches(c, d.etag) {
		c.Status(http.StatusNotModified)
		return nil
	}
	// Callers that accept gzip get it, even if they prefer another encoding: it exists already, at the best
	// compression.
	if len(d.text) >= httpcache.MinCompressed && httpcache.PreferredOf(c, httpcache.Gzip) == httpcache.Gzip {
		c.Set(fiber.HeaderContentEncoding, httpcache.Gzip)
		return c.Send(d.gzipped)
	}
	return c.Send(d.text)
}

func (a *API) registerDocuments(documents []Document) {
	for _, document := range documents {
		render := document.renderer()
		send := func(c *fiber.Ctx) error {
			examples := Examples{}
			if document.RenderExamples != nil {
				examples = a.examples.get(c.UserContext())
			}
			d, err := render(examples)
			if err != nil {
				return err
			}
			return d.send(c)
		}
		if document.Path == PathHome {
			send = home(send)
		}
		a.handleGet(document.Path, send)
	}
	for _, path := range []string{"/", "/guides", "/guides/"} {
		a.handleGet(PathDocs+path, func(c *fiber.Ctx) error {
			setDocumentCaching(c)
			return c.Redirect(PathDocs, fiber.StatusMovedPermanently)
		})
	}
}

// handleGet registers the handler of a path, which Fiber answers HEAD with, too; preflight answers OPTIONS.
func (a *API) handleGet(path string, handler fiber.Handler) {
	a.app.Get(path, handler)
	a.app.Options(path, preflight)
}

// home sends browsers the first page. Programs get a 404 that names the OpenAPI document.
func home(send fiber.Handler) fiber.Handler {
	return func(c *fiber.Ctx) error {
		c.Vary(fiber.HeaderAccept)
		if c.Get(fiber.HeaderAccept) != "" && c.Accepts(fiber.MIMEApplicationJSON, fiber.MIMETextHTML) == fiber.MIMETextHTML {
			return send(c)
		}
		e := unknownPath(PathHome)
		e.Message = fmt.Sprintf("nothing here: see %s for programs, %s for people", PathOpenAPI, PathDocs)
		return e
	}
}
