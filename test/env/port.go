package env

import (
	"math/rand/v2"
	"net"
	"strconv"
	"sync"
	"testing"
)

// Ports that are given out begin at first. Systems take those of outgoing connections
// from further up, so that a server that was killed finds its port free again.
const (
	first = 10_000
	ports = 22_000
)

// given holds the ports that this process has given out.
//
//nolint:gochecknoglobals // ports are the machine's
var given sync.Map

// Free is a port of the loopback interface at which nobody listens, and a different one
// each time.
func Free(tb testing.TB) string {
	tb.Helper()
	for range ports {
		port := strconv.Itoa(first + rand.IntN(ports)) //nolint:gosec // no secret
		if _, again := given.LoadOrStore(port, true); again {
			continue
		}
		listener, err := net.Listen("tcp", "127.0.0.1:"+port) //nolint:noctx // it does not wait
		if err == nil {
			listener.Close()
			return port
		}
	}
	tb.Fatal("no port is free")
	return ""
}

// FreeAddress is the address of a Free port.
func FreeAddress(tb testing.TB) string {
	tb.Helper()
	return "127.0.0.1:" + Free(tb)
}
