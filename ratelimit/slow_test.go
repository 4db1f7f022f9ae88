package ratelimit_test

import (
	"errors"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pnyx/ratelimit"
	"pnyx/test/env"
)

// slowLink is a way to a Redis on which every answer is late.
type slowLink struct {
	listener net.Listener
	server   string
	delay    atomic.Int64
	done     chan struct{}
	copying  sync.WaitGroup
}

// newSlowLink returns a link to a server, without a delay at first.
func newSlowLink(t *testing.T, url string) *slowLink {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := &slowLink{listener: listener, server: strings.TrimPrefix(url, "redis://"), done: make(chan struct{})}
	l.copying.Go(l.accept)
	t.Cleanup(func() {
		close(l.done)
		listener.Close()
		l.copying.Wait()
	})
	return l
}

func (l *slowLink) accept() {
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
		l.copying.Go(func() { l.carry(far, near, false) })
		l.copying.Go(func() { l.carry(near, far, true) })
		l.copying.Go(func() {
			<-l.done
			near.Close()
			far.Close()
		})
	}
}

// carry copies one direction until either end is closed.
func (l *slowLink) carry(to, from net.Conn, late bool) {
	defer to.Close()
	chunk := make([]byte, 64<<10)
	for {
		n, err := from.Read(chunk)
		if late && n > 0 {
			timer := time.NewTimer(time.Duration(l.delay.Load()))
			select {
			case <-timer.C:
			case <-l.done:
				timer.Stop()
				return
			}
		}
		if _, writeErr := to.Write(chunk[:n]); errors.Join(err, writeErr) != nil {
			return
		}
	}
}

func TestNoRequestWaitsForARedisThatIsSlow(t *testing.T) {
	server := env.Redis(t)
	link := newSlowLink(t, server.URL)
	limiter := newLimiter(t, "redis://"+link.listener.Addr().String(), patience, false)
	r := ratelimit.Request{Caller: "a", Limits: slow(50, 1_000_000), Bucket: ratelimit.Detail}
	stop := load(t, limiter, r)
	for _, delay := range []time.Duration{0, 10 * time.Millisecond, 80 * time.Millisecond, away} {
		link.delay.Store(int64(delay))
		hold(t, 400*time.Millisecond)
	}
	longest, allowed := stop()
	if longest > patience+late {
		t.Errorf("a request took %s", longest)
	}
	if allowed < 50 || allowed > 102 {
		t.Errorf("got %d allowed, want those of one bucket, or of two", allowed)
	}
	t.Logf("longest %s, allowed %d", longest, allowed)

	link.delay.Store(0)
	fresh := ratelimit.Request{Caller: "b", Limits: slow(1_000_000, 0), Bucket: ratelimit.Detail}
	client := env.RedisClient(t, server.URL)
	env.Until(t, func() error {
		limiter.Take(t.Context(), fresh, noon)
		keys, err := client.Keys(t.Context(), "rate:*{limit:b}*").Result()
		if err == nil && len(keys) == 0 {
			err = errors.New("limits are not shared again")
		}
		return err
	})
}
