package reference_test

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

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

// npmTimeout bounds the run of the linter.
const npmTimeout = 3 * time.Minute

// TestDocumentPassesTheLinter lints the published document with the packages that
// `make npm` installs.
func TestDocumentPassesTheLinter(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("npm/node_modules/.package-lock.json"); err != nil {
		t.Skip("no node_modules: make npm")
	}
	if _, err := exec.LookPath("npm"); err != nil {
		t.Skip("no npm")
	}
	ctx, cancel := context.WithTimeout(t.Context(), npmTimeout)
	defer cancel()
	command := exec.CommandContext(ctx, "npm", "run", "--silent", "lint")
	command.Dir = "npm"
	if text, err := command.CombinedOutput(); err != nil {
		t.Errorf("npm run lint: %v\n%s", err, text)
	}
}

// The constraints come from the schema that the entry names.
func TestEntryOfTheRegistryFitsItsSchema(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ publicURL, wantName, wantURL string }{
		"an unknown address":     {"", "org.example.api/pnyx", "https://api.example.org/mcp"},
		"an address":             {"https://dao.example.com", "com.example.dao/pnyx", "https://dao.example.com/mcp"},
		"an address with a path": {"https://example.com:8443/pnyx/", "com.example/pnyx", "https://example.com:8443/pnyx/mcp"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text := check.Must(reference.RegistryEntry(reference.Node{PublicURL: c.publicURL}))(t)
			var entry struct {
				Name, Title, Description, Version string
				Remotes                           []struct {
					Type, URL string
					Headers   []struct {
						Name                 string
						IsRequired, IsSecret bool
					}
				}
			}
			check.MustDo(t, json.Unmarshal(text, &entry))
			if entry.Name != c.wantName || !regexp.MustCompile(`^[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+$`).MatchString(entry.Name) {
				t.Errorf("name: got %q, want %q", entry.Name, c.wantName)
			}
			for field, value := range map[string]string{"title": entry.Title, "description": entry.Description} {
				if value == "" || len(value) > 100 {
					t.Errorf("%s: got %q, want 1 to 100 characters", field, value)
				}
			}
			check.Want(t, api.SurfaceVersion, entry.Version, "version")
			if len(entry.Remotes) != 1 || entry.Remotes[0].Type != "streamable-http" || entry.Remotes[0].URL != c.wantURL {
				t.Fatalf("remotes: got %+v, want %s", entry.Remotes, c.wantURL)
			}
			headers := entry.Remotes[0].Headers
			if len(headers) != 1 || headers[0].Name != "x-service-api-token" || !headers[0].IsSecret || headers[0].IsRequired {
				t.Errorf("headers: got %+v, want the token, which is secret and not required", headers)
			}
		})
	}
}

func TestCrawlersReadDocumentsAndNoData(t *testing.T) {
	t.Parallel()
	for _, document := range reference.Documents(reference.Node{}) {
		if document.Path != api.PathRobots {
			continue
		}
		text := check.Must(document.Render())(t)
		for _, line := range []string{"Allow: /docs", "Allow: /explore", "Allow: /llms.txt", "Disallow: /v2/"} {
			check.WantPart(t, line+"\n", string(text))
		}
	}
}
