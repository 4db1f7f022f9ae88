package accounts_test

import (
	"path/filepath"
	"reflect"
	"testing"

	"pnyx/access"
	"pnyx/cache/accounts"
	"pnyx/governance"
	"pnyx/test/env"
)

var updateLayout = env.LayoutFlag()

func TestVersionsOfOneFormatReadEachOthersAccounts(t *testing.T) {
	t.Parallel()
	env.WantLayout(t, filepath.Join("testdata", "layout-"+accounts.FormatVersion+".txt"), updateLayout,
		reflect.TypeFor[governance.Payment](), reflect.TypeFor[access.Usage](), reflect.TypeFor[access.Token]())
}
