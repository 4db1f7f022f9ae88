package ratelimit_test

import (
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"pnyx/ratelimit"
	"pnyx/test/env"
)

// slowLink is a connection to a Redis whose answers can be held back.
type slowLink struct {
	listener net.Listener
	server   string
	sent     atomic.Int64 // chunks that went to the server
	held     sync.RWMutex // locked while answers are held back
	copying  sync.WaitGroup
}

// newSlowLink returns a link to a server, which lets answers through at first.
func newSlowLink(t *testing.T, url string) *slowLink {
	t.Helper()
	listener := env.Must(net.Listen("tcp", "127.0.0.1:0"))(t)
	l := &slowLink{listener: listener, server: strings.TrimPrefix(url, "redis://")}
	l.copying.Go(l.accept)
	t.Cleanup(func() {
		listener.Close()
		l.copying.Wait()
	})
	return l
}

// accept carries connections to the server until the listener is closed.
func (l *slowLink) accept() {
	var ends []net.Conn
	defer func() {
		for _, end := range ends {
			end.Close()
		}
	}()
	for {
		near, err := l.listener.Accept()
		if err != nil {
			return
		}
		far, err := net.Dial("tcp", l.server)
		if err != nil {
			near.Close()
			continue
		}
		ends = append(ends, near, far)
		l.copying.Go(func() { carry(far, near, func() { l.sent.Add(1) }) })
		l.copying.Go(func() {
			carry(near, far, func() {
				l.held.RLock() // waits for the end of a hold
				defer l.held.RUnlock()
			})
		})
	}
}

// carry copies one direction until either end is closed.
func carry(to, from net.Conn, before func()) {
	defer to.Close()
	chunk := make([]byte, 64<<10)
	for {
		n, err := from.Read(chunk)
		before()
		if _, writeErr := to.Write(chunk[:n]); errors.Join(err, writeErr) != nil {
			return
		}
	}
}

func TestNoRequestWaitsForARedisThatIsSlow(t *testing.T) {
	t.Parallel()
	server := env.Redis(t)
	link := newSlowLink(t, server.URL)
	limiter := newLimiter(t, "redis://"+link.listener.Addr().String(), limitTimeout, false)
	r := ratelimit.Request{Caller: "a", Limits: slow(50, 1_000_000), Bucket: ratelimit.Detail}
	allowed := takeConcurrently(t, 16, 10, r, limiter)
	func() {
		link.held.Lock()
		defer link.held.Unlock()
		const retries = 3 // of a limiter that got no answer
		for before := link.sent.Load(); link.sent.Load() < before+retries; {
			env.Until(t, func() error {
				seen := link.sent.Load()
				allowed += takeConcurrently(t, 16, 10, r, limiter)
				if link.sent.Load() == seen {
					return fmt.Errorf("got %d commands sent to Redis, want one more", seen)
				}
				return nil
			})
		}
	}()
	// Now the answers come that nobody waits for anymore.
	allowed += takeConcurrently(t, 16, 10, r, limiter)
	wantOneBucketOrTwo(t, allowed)
	untilShared(t, limiter, server.URL)
}
