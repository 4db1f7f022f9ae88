package doc_test

import (
	"testing"

	"pnyx/api/doc"
)

func TestMarkdownBecomesHTML(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ text, want string }{
		"a heading":   {"## Access", "<h2>Access</h2>\n"},
		"a paragraph": {"one\ntwo\n\nthree", "<p>one\ntwo</p>\n<p>three</p>\n"},
		"code":        {"`a < b` and **more**", "<p><code>a &lt; b</code> and <b>more</b></p>\n"},
		"a link":      {"[prices](/v2/meta/pricing)", "<p><a href=\"/v2/meta/pricing\">prices</a></p>\n"},
		"other links": {"[x](javascript:alert)", "<p>[x](javascript:alert)</p>\n"},
		"markup":      {"<script>", "<p>&lt;script&gt;</p>\n"},
		"a table": {
			"| a | b |\n|---|---|\n| `1` | 2 |",
			"<div class=\"scroll\"><table><tr><th>a</th><th>b</th></tr><tr><td><code>1</code></td><td>2</td></tr></table></div>\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := doc.MarkdownHTML(test.text); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}
