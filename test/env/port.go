package env

import (
	"math/rand/v2"
	"net"
	"path/filepath"
	"strconv"
	"sync"
	"testing"

	"github.com/gofrs/flock"
)

// Ports that are given out begin at first: systems take ports of outgoing connections from further up.
const (
	first = 10_000
	ports = 22_000
)

// given holds the ports of this process, with a locked file of each, so that no other process chooses them.
var given sync.Map //nolint:gochecknoglobals // ports are the machine's

// portFolder is the folder of those files, which all test processes of a user share.
var portFolder = sync.OnceValues(func() (string, error) { return cacheFolder("ports") }) //nolint:gochecknoglobals // made once

// Free is a port of the loopback interface on which no process listens, a different one each time.
func Free(tb testing.TB) string {
	tb.Helper()
	dir := Must(portFolder())(tb)
	for range ports {
		port := strconv.Itoa(first + rand.IntN(ports)) //nolint:gosec // no secret
		lock := flock.New(filepath.Join(dir, port))
		if _, again := given.LoadOrStore(port, lock); again {
			continue
		}
		if taken, err := lock.TryLock(); err != nil {
			tb.Fatal(err)
		} else if !taken {
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
