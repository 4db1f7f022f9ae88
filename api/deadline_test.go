package api_test

import (
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"time"

	"pnyx/api"
)

// lazyPair is two ends of a connection, the first with lazy deadlines.
func lazyPair(tb testing.TB) (lazy, other net.Conn) {
	tb.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { listener.Close() })
	if other, err = net.Dial("tcp", listener.Addr().String()); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { other.Close() })
	if lazy, err = api.LazyListener(listener).Accept(); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { lazy.Close() })
	return lazy, other
}

func TestMovedDeadlineLetsTimelyDataThrough(t *testing.T) {
	t.Parallel()
	lazy, other := lazyPair(t)
	// The timer is set for the first one, and has rung when the byte comes.
	for _, within := range []time.Duration{20 * time.Millisecond, soon} {
		if err := lazy.SetDeadline(time.Now().Add(within)); err != nil {
			t.Fatal(err)
		}
	}
	time.AfterFunc(50*time.Millisecond, func() { _, _ = other.Write([]byte("x")) })
	var got [1]byte
	if n, err := lazy.Read(got[:]); n != 1 || err != nil {
		t.Errorf("got %d bytes (%v), want the one that came in time", n, err)
	}
	// As much as needs several writes, to somebody who reads it late.
	const much = 32 << 20
	if err := errors.Join(lazy.SetDeadline(time.Now().Add(20*time.Millisecond)), lazy.SetDeadline(time.Now().Add(soon))); err != nil {
		t.Fatal(err)
	}
	read := make(chan int64, 1)
	time.AfterFunc(50*time.Millisecond, func() {
		n, _ := io.Copy(io.Discard, other)
		read <- n
	})
	n, err := lazy.Write(make([]byte, much))
	if err = errors.Join(err, lazy.Close()); err != nil || n != much {
		t.Errorf("wrote %d bytes (%v), want %d", n, err, much)
	}
	if got := <-read; got != much {
		t.Errorf("%d bytes arrived, want %d", got, much)
	}
}

func TestDeadlineEndsAWait(t *testing.T) {
	t.Parallel()
	for name, deadlines := range map[string][]time.Duration{
		"the only one": {20 * time.Millisecond}, "one that moved back": {time.Hour, 20 * time.Millisecond},
		"one that moved on": {10 * time.Millisecond, 30 * time.Millisecond}, "one after none": {time.Millisecond, 0, 20 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			lazy, _ := lazyPair(t)
			for _, within := range deadlines {
				due := time.Time{}
				if within > 0 {
					due = time.Now().Add(within)
				}
				if err := lazy.SetReadDeadline(due); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := lazy.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("%s: got %v, want the end of the wait", name, err)
			}
		})
	}
}
