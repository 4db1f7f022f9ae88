package governance_test

import (
	"strings"
	"testing"

	"pnyx/governance"
)

func TestTitleIsDerivedFromTheText(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("ä", 100)
	for _, c := range []struct{ title, body, want string }{
		{"Stated", "# Heading", "Stated"},
		{" ", "# About C#\n\ntext", "About C#"},
		{"", "# #1 priority", "#1 priority"},
		{"", "#\tTabbed", "Tabbed"},
		{"", "#\t\r\n\r\n## Second\r\nmore", "Second"},
		{"", "   ## Indented", "Indented"},
		{"", "    # code\ntext", "# code text"},
		{"", "## Closed ##\n", "Closed"},
		{"", "# ##\ntext", "# ## text"},
		{"", "# **Bold**\ntext", "Bold"},
		{"", "# **One** and **two**", "**One** and **two**"},
		{"", "**Bold**", "Bold"},
		{"", "Intro\n\n# Later", "Later"},
		{"", "```\n# comment\n```\ntext", "``` # comment ``` text"},
		{"", "#hashtag first", "#hashtag first"},
		{"", "  a \t b\r\n\r\nc  ", "a b c"},
		{"", strings.Repeat("a  ", 60), strings.TrimSpace(strings.Repeat("a ", 40))},
		{"", long, strings.Repeat("ä", 80)},
		{"", "# " + long, long},
		{"", " \n", ""},
	} {
		got, derived := governance.TitleOrDerived(c.title, c.body)
		if got != c.want || derived != (c.title != "Stated" && c.want != "") {
			t.Errorf("title of %q and %q: got %q, derived %t, want %q", c.title, c.body, got, derived, c.want)
		}
	}
}
