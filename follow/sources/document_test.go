package sources_test

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"pnyx/config"
	"pnyx/follow/sources"
	"pnyx/test/env"
)

func TestTheExampleIsValidAndNeedsNoKey(t *testing.T) {
	t.Parallel()
	text := env.Must(os.ReadFile("../../docs/sources.example.yaml"))(t)
	environ := func(string) (string, bool) { return "", false }
	if _, err := sources.Parse("f", text, environ); err == nil || !strings.Contains(err.Error(), "contact: you@example.org is from the example") {
		t.Errorf("got %v, want the example's contact refused", err)
	}
	file := env.Must(sources.Parse("f", bytes.Replace(text, []byte("you@example.org"), []byte("ops@example.net"), 1), environ))(t)
	env.Want(t, 10, len(file.DAOs), "DAOs", "ten")
	for _, dao := range file.DAOs {
		for _, governor := range dao.Governors {
			if governor.FirstBlock == 0 {
				t.Errorf("%s: %s has no first block, which endpoints without an archive need", dao.ID, governor.ID)
			}
		}
	}
}

func TestTheDocumentDescribesThePresentKeys(t *testing.T) {
	t.Parallel()
	document := env.Must(os.ReadFile("../../docs/sources.md"))(t)
	want := env.Must(config.UpdateTable(string(document), "sources", sources.Markdown()))(t)
	if string(document) != want {
		t.Error("the list of keys in docs/sources.md is not the present one: run `make docs`")
	}
	for row := range strings.SplitSeq(strings.TrimSpace(sources.Markdown()), "\n") {
		if key, meaning, _ := strings.Cut(row, ": "); !strings.HasPrefix(key, "- `") || !strings.HasSuffix(meaning, ".") {
			t.Errorf("got line %s, want a key and a sentence", row)
		}
	}
}
