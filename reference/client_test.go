package reference_test

import (
	"strings"
	"testing"

	"pnyx/api"
	"pnyx/reference"
	"pnyx/reference/client"
	"pnyx/test/check"
)

func TestNodeServesClientsAndSaysWhere(t *testing.T) {
	t.Parallel()
	const base = "https://api.example.org"
	texts, types := map[string]string{}, map[string]string{}
	for _, document := range reference.Documents(reference.Node{Prices: defaultPrices(), PublicURL: base}) {
		if document.Render == nil { // made anew for each request
			continue
		}
		text := check.Must(document.Render())(t)
		texts[document.Path], types[document.Path] = string(text), document.ContentType
	}
	for _, language := range client.Languages() {
		t.Run(string(language), func(t *testing.T) {
			t.Parallel()
			path := language.Path()
			for _, want := range []string{base + path, "surface " + api.SurfaceVersion} {
				check.WantPart(t, want, texts[path][:min(1000, len(texts[path]))], path)
			}
			if got := types[path]; !strings.HasSuffix(got, "; charset=utf-8") || strings.HasPrefix(got, "text/html") {
				t.Errorf("%s: got type %s, want a type of source code", path, got)
			}
			for _, document := range []string{api.PathLLMs, api.PathCatalog, api.PathOpenAPI} {
				check.WantPart(t, path, texts[document], document)
			}
		})
	}
}
