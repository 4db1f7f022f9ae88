package accounts_test

import (
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pnyx/cache"
	"pnyx/cache/accounts"
)

func TestDocumentListsThePresentKeys(t *testing.T) {
	t.Parallel()
	recorded, err := os.ReadFile("../../docs/keys.md")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(recorded), string(cache.KeyTable(cache.Keys(), accounts.Keys()))); diff != "" {
		t.Errorf("docs/keys.md is out of date, run `make docs` (-recorded +present):\n%s", diff)
	}
}
