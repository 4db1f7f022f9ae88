package x402_test

import (
	"testing"

	"go.uber.org/goleak"

	"pnyx/cache/cachetest"
)

func TestMain(m *testing.M) {
	cachetest.Quiet()
	goleak.VerifyTestMain(m, cachetest.Leftover())
}
