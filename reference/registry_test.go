package reference_test

import (
	"encoding/json"
	"regexp"
	"testing"

	"pnyx/api"
	"pnyx/reference"
	"pnyx/test/check"
)

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
