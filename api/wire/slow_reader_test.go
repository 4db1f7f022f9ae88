package wire_test

import (
	"errors"
	"io"
	"net"
	"os"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"pnyx/api/wire"
	"pnyx/test/check"
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
				conn := check.Must(wire.BoundedListener(onePipe{end: ours}, given.waiting).Accept())(t)
				defer conn.Close()
				began := time.Now()
				check.MustDo(t, conn.SetWriteDeadline(began.Add(30*time.Second)))
				if _, err := conn.Write([]byte("an answer")); !errors.Is(err, os.ErrDeadlineExceeded) {
					t.Errorf("got %v, want that the deadline is exceeded", err)
				}
				check.Want(t, given.want, time.Since(began), "cut off after")
			})
		})
	}
}

func TestPromptReaderIsServedWhileMuchWaitsToBeRead(t *testing.T) {
	t.Parallel()
	ours, theirs := net.Pipe()
	defer theirs.Close()
	conn := check.Must(wire.BoundedListener(onePipe{end: ours}, 64<<20).Accept())(t)
	go func() {
		_, _ = conn.Write([]byte("an answer")) // what arrives is compared
		conn.Close()
	}()
	if got, err := io.ReadAll(theirs); err != nil || string(got) != "an answer" {
		t.Errorf("got %q, %v, want the answer", got, err)
	}
}

// spent is a listener of a process without file descriptors, until it has failed a number of times.
type spent struct {
	onePipe

	failures int
}

// Accept implements net.Listener.
func (l *spent) Accept() (net.Conn, error) {
	if l.failures--; l.failures >= 0 {
		return nil, &net.OpError{Op: "accept", Err: os.NewSyscallError("accept4", syscall.EMFILE)}
	}
	return l.onePipe.Accept()
}

func TestAttackAServerOutlivesTheLackOfFileDescriptors(t *testing.T) {
	t.Parallel()
	ours, theirs := net.Pipe()
	defer theirs.Close()
	conn := check.Must(wire.BoundedListener(&spent{onePipe{end: ours}, 2}, 0).Accept())(t)
	check.MustDo(t, conn.Close())
}
