package doc

import (
	"bytes"
	"compress/gzip"
	"embed"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/gofiber/fiber/v2"

	"pnyx/api"
	"pnyx/page"
)

// referenceFiles are the interactive reference: our page around Swagger UI, whose
// files are kept gzipped as `npm run reference` writes them.
//
//go:embed reference
var referenceFiles embed.FS

// reference returns the page and the files that it loads.
func reference() []api.Document {
	types := map[string]string{
		"start.js":                "text/javascript; charset=utf-8",
		"style.css":               "text/css; charset=utf-8",
		"swagger-ui.css.gz":       "text/css; charset=utf-8",
		"swagger-ui-bundle.js.gz": "text/javascript; charset=utf-8",
	}
	documents := []api.Document{{
		Path: api.PathDocs, ContentType: fiber.MIMETextHTMLCharsetUTF8, Render: referenceFile("index.html"),
		Header: page.Header(),
	}}
	for _, name := range slices.Sorted(maps.Keys(types)) {
		documents = append(documents, api.Document{
			Path:        api.PathDocs + "/" + strings.TrimSuffix(name, ".gz"),
			ContentType: types[name], Render: referenceFile(name),
		})
	}
	return documents
}

// referenceFile returns a function that reads a file, and unpacks a gzipped one.
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
			return nil, fmt.Errorf("unpack %s: %w", name, err)
		}
		return io.ReadAll(unpacked)
	}
}
