package page_test

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"pnyx/api"
	"pnyx/page"
	"pnyx/test/check"
)

// rendered renders a page whose content is the given template.
func rendered(t *testing.T, content string, p page.Page) string {
	t.Helper()
	parsed := check.Must(page.New(fstest.MapFS{"main.html": {Data: []byte(`{{define "main"}}` + content + `{{end}}`)}}, nil, "main.html"))(t)
	text := check.Must(page.Render(parsed, p))(t)
	return string(text)
}

func TestPageHasItsContentInTheShell(t *testing.T) {
	t.Parallel()
	text := rendered(t, `<h1>{{.}}</h1>`, page.Page{
		Title: "Votes", Description: "How it went.", Path: api.PathDocs,
		Styles: []string{"/votes.css"}, Scripts: []string{"/votes.js"}, Data: `<b>"Uniswap"</b>`,
	})
	for _, want := range []string{
		`<title>Votes · Pnyx</title>`,
		`<meta name="description" content="How it went.">`,
		`<link rel="stylesheet" href="/votes.css">`,
		`<script type="module" src="/votes.js"></script>`,
		`<a href="/docs" aria-current="page">Reference</a>`,
		`<a href="/llms.txt">llms.txt</a>`,
		`<h1>&lt;b&gt;&#34;Uniswap&#34;&lt;/b&gt;</h1>`,
	} {
		check.WantPart(t, want, text, "the page")
	}
}

func TestPageObeysItsPolicy(t *testing.T) {
	t.Parallel()
	text := rendered(t, "", page.Page{Title: "Empty"})
	for _, refused := range []string{"<style", " style=", "<script>", " onclick=", "http:", "https:"} {
		if strings.Contains(text, refused) {
			t.Errorf("the shell has %q, which its policy refuses", refused)
		}
	}
	if policy := page.Header()["Content-Security-Policy"]; !strings.HasPrefix(policy, "default-src 'none';") {
		t.Errorf("got the policy %q, want one that begins with default-src 'none'", policy)
	}
}

func TestPageLoadsWhatIsServed(t *testing.T) {
	t.Parallel()
	var paths []string
	for _, document := range page.Documents() {
		text, err := document.Render()
		if err != nil || len(text) == 0 || document.ContentType == "" {
			t.Errorf("%s: got %d bytes of %q and %v, want a file", document.Path, len(text), document.ContentType, err)
		}
		paths = append(paths, document.Path)
	}
	text := rendered(t, "", page.Page{Title: "Empty"})
	for _, path := range []string{page.PathStyle, page.PathScript, page.PathIcon} {
		if !slices.Contains(paths, path) || !strings.Contains(text, `"`+path+`"`) {
			t.Errorf("%s is served with %q, and loaded by the shell: %t", path, paths, strings.Contains(text, path))
		}
	}
}
