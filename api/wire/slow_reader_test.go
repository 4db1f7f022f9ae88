package wire_test

import (
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"pnyx/api/wire"
)

// onePipe is a listener that accepts one end of a pipe, which holds no bytes.
type onePipe struct {
	net.Listener

	end net.Conn
}

// Accept implements net.Listener.
func (l onePipe) Accept() (net.Conn, error) { return l.end, nil }

func TestAttackSlowReadersAreCutOffWhileMuchWaitsToBeRead(t *testing.T) {
	t.Parallel()
	for name, given := range map[string]struct {
		waiting int64
		want    time.Duration
	}{
		"little waits": {0, 30 * time.Second},
		"much waits":   {64 << 20, 2 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ours, theirs := net.Pipe()
				defer theirs.Close()
				conn, err := wire.BoundedListener(onePipe{end: ours}, given.waiting).Accept()
				if err != nil {
					t.Fatal(err)
				}
				defer conn.Close()
				began := time.Now()
				if err := conn.SetWriteDeadline(began.Add(30 * time.Second)); err != nil {
					t.Fatal(err)
				}
				if _, err := conn.Write([]byte("an answer")); !errors.Is(err, os.ErrDeadlineExceeded) {
					t.Errorf("got %v, want that the deadline is exceeded", err)
				}
				if got := time.Since(began); got != given.want {
					t.Errorf("cut off after %s, want %s", got, given.want)
				}
			})
		})
	}
}

func TestPromptReaderIsServedWhileMuchWaitsToBeRead(t *testing.T) {
	t.Parallel()
	ours, theirs := net.Pipe()
	defer theirs.Close()
	conn, err := wire.BoundedListener(onePipe{end: ours}, 64<<20).Accept()
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		_, _ = conn.Write([]byte("an answer")) // what arrives is compared
		conn.Close()
	}()
	if got, err := io.ReadAll(theirs); err != nil || string(got) != "an answer" {
		t.Errorf("got %q, %v, want the answer", got, err)
	}
}
