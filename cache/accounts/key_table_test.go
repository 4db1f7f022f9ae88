package accounts_test

import (
	"os"
	"strings"
	"testing"

	"pnyx/cache"
	"pnyx/cache/accounts"
)

func TestDocumentListsThePresentKeys(t *testing.T) {
	t.Parallel()
	recorded, err := os.ReadFile("../../docs/production.md")
	if err != nil {
		t.Fatal(err)
	}
	if table := cache.KeyTable(cache.Keys(), accounts.Keys()); !strings.Contains(string(recorded), string(table)) {
		t.Errorf("the keys in docs/production.md are out of date, run `make docs`: want\n%s", table)
	}
}
