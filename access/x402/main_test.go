package x402_test

import (
	"testing"

	"go.uber.org/goleak"

	"pnyx/test/env"
)

func TestMain(m *testing.M) {
	env.QuietRedis()
	goleak.VerifyTestMain(m, env.RedisLeftover())
}
