package reference_test

import (
	"testing"

	"pnyx/reference"
	"pnyx/test/check"
)

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
			"<div class=\"scroll\"><table>\n<thead>\n<tr>\n<th>a</th>\n<th>b</th>\n</tr>\n</thead>\n<tbody>\n<tr>\n<td><code>1</code></td>\n<td>2</td>\n</tr>\n</tbody>\n</table></div>\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			check.Want(t, test.want, reference.MarkdownHTML(test.text))
		})
	}
}
