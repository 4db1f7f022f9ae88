package reference_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"pnyx/api"
	"pnyx/reference"
	"pnyx/test/check"
)

func TestGuidesLeadToWhatIsServed(t *testing.T) {
	t.Parallel()
	paths := append(reference.Paths(), api.PathExplore, api.PathHome)
	for _, guide := range reference.Guides() {
		page, text := string(document(t, guide.Path())), string(document(t, guide.Path()+".md"))
		for _, wrong := range []string{" style=", "<script>", "<!-- ", "no instance", "USDC"} {
			if strings.Contains(page, wrong) {
				t.Errorf("%s: the page has %q", guide.Path(), wrong)
			}
		}
		if !strings.Contains(page, `<h1 id="`) || !strings.HasPrefix(text, "# ") {
			t.Errorf("%s: got no title, as a page or as Markdown", guide.Path())
		}
		links := regexp.MustCompile(`href="([^"]*)"`).FindAllStringSubmatch(page, -1)
		for _, link := range slices.Concat(links, regexp.MustCompile(`(?m)^[^ ].*?\[[^\]]+\]\(([^)]*)\)`).FindAllStringSubmatch(text, -1)) {
			path, anchor, _ := strings.Cut(link[1], "#")
			if path == "" && !strings.Contains(page, `id="`+anchor+`"`) || path != "" && !slices.Contains(paths, path) && !strings.HasPrefix(path, "https://") {
				t.Errorf("%s: the link to %s leads nowhere", guide.Path(), link[1])
			}
		}
		for _, path := range []string{api.PathHome, api.PathDocs, api.PathLLMs} {
			if !strings.Contains(string(document(t, path)), guide.Path()) {
				t.Errorf("%s has no link to %s", path, guide.Path())
			}
		}
	}
	export := string(document(t, "/docs/guides/export.md"))
	if !strings.HasPrefix(export, "# A whole DAO\n") || !strings.Contains(export, "\n## All ballots of a vote\n") ||
		!strings.Contains(export, "[Clients](/docs/guides/partners.md#clients)") || strings.Contains(export, "# Webhooks") {
		t.Errorf("got %s, want two sections of the guide for partners", export)
	}
	if partners := string(document(t, "/docs/guides/partners.md")); !strings.Contains(partners, "[rules](/docs/guides/rules.md)") ||
		!strings.Contains(partners, "(security)") {
		t.Error("got other links in the guide for partners, want the one to the rules, and no text lost")
	}
}

func TestMarkdownBecomesHTML(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ text, want string }{
		"a heading":   {"## Access", "<h2>Access</h2>\n"},
		"a paragraph": {"one\ntwo\n\nthree", "<p>one\ntwo</p>\n<p>three</p>\n"},
		"code":        {"`a < b` and **more**", "<p><code>a &lt; b</code> and <strong>more</strong></p>\n"},
		"a link":      {"[prices](/v2/meta/pricing)", "<p><a href=\"/v2/meta/pricing\">prices</a></p>\n"},
		"other links": {"[x](javascript:alert)", "<p><a href=\"\">x</a></p>\n"},
		"markup":      {"<script>", "<p>&lt;script&gt;</p>\n"},
		"a table": {
			"| a | b |\n|---|---|\n| `1` | 2 |",
			"<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Table 1\"><table>\n<thead>\n<tr>\n<th>a</th>\n<th>b</th>\n</tr>\n</thead>\n<tbody>\n<tr>\n<td><code>1</code></td>\n<td>2</td>\n</tr>\n</tbody>\n</table></div>\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			check.Want(t, test.want, reference.MarkdownHTML(test.text))
		})
	}
}
