package sources_test

import (
	"os"
	"strings"
	"testing"

	"pnyx/config"
	"pnyx/follow/sources"
)

func TestTheDocumentDescribesThePresentKeys(t *testing.T) {
	t.Parallel()
	document, err := os.ReadFile("../../docs/sources.md")
	if err != nil {
		t.Fatal(err)
	}
	want, err := config.UpdateTable(string(document), "sources", sources.Markdown())
	if err != nil {
		t.Fatal(err)
	}
	if string(document) != want {
		t.Error("the table of keys in docs/sources.md is not the present one: run `make docs`")
	}
	for row := range strings.SplitSeq(strings.TrimSpace(sources.Markdown()), "\n") {
		if strings.Count(row, "|") != 3 || !strings.HasPrefix(row, "| Key") && !strings.HasPrefix(row, "| ---") && !strings.HasSuffix(row, ". |") {
			t.Errorf("got row %s, want two cells, the last one a sentence", row)
		}
	}
}
