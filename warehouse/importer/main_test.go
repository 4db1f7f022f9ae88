package importer_test

import (
	"context"
	"fmt"
	"os"
	"testing"

	"pnyx/warehouse/engine/enginetest"
)

func TestMain(m *testing.M) {
	code := m.Run()
	if err := enginetest.Cleanup(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}
