package importer_test

import (
	"testing"

	"pnyx/test/env"
)

func TestMain(m *testing.M) { env.Main(m) }
