package importer_test

import (
	"context"
	"fmt"
	"os"
	"testing"

	"pnyx/test/env"
)

func TestMain(m *testing.M) {
	code := m.Run()
	if err := env.StopEngine(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}
