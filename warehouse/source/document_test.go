package source_test

import (
	"flag"
	"os"
	"strings"
	"testing"

	"pnyx/warehouse/source"
)

var update = flag.Bool("update", false, "write the table of formats into docs/sources.md")

// TestTheDocumentListsTheFormats is not parallel: with -update it writes a file that other
// tests read.
func TestTheDocumentListsTheFormats(t *testing.T) {
	readme, err := os.ReadFile("../../docs/sources.md")
	if err != nil {
		t.Fatal(err)
	}
	const begin, end = "### Upstream formats\n\n", "\nThe files of a Discourse forum"
	before, rest, foundBegin := strings.Cut(string(readme), begin)
	table, after, foundEnd := strings.Cut(rest, end)
	if !foundBegin || !foundEnd {
		t.Fatalf("got docs/sources.md without %q and %q, want both around the table", begin, end)
	}
	want := source.FormatTable()
	if *update {
		content := before + begin + want + end + after
		if err := os.WriteFile("../../docs/sources.md", []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if table != want {
		t.Errorf("got the table\n%s\nwant (run the test with -update)\n%s", table, want)
	}
}
