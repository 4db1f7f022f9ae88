package drills

import (
	"net"
	"testing"
	"time"

	"pnyx/test/env"
)

// accepts reports whether a server listens at an address.
func accepts(address string) error {
	conn, err := net.DialTimeout("tcp", address, time.Second)
	if err != nil {
		return err
	}
	return conn.Close()
}

// redisServer is a redis-server that keeps nothing on disk.
type redisServer struct {
	*env.RedisServer

	tb testing.TB
}
