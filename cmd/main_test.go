package cmd

import (
	"testing"

	"pnyx/test/env"
)

func TestMain(m *testing.M) { env.Main(m) }
