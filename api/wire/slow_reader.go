// Package wire holds what is decided about bytes before they are a request or after they are an answer: where a
// request ends, and how long a caller may leave an answer unread.
package wire

import (
	"errors"
	"net"
	"sync/atomic"
	"syscall"
	"time"
)

// While more than maxWaitingBytes wait for callers to read them, a caller has pressedWriteTimeout for each write:
// slow readers do not fill the memory of a node.
const (
	maxWaitingBytes     = 32 << 20
	pressedWriteTimeout = 2 * time.Second
)

// acceptPause is the time until a connection is accepted again that no file descriptor was left for.
const acceptPause = 20 * time.Millisecond

// boundedListener wraps its connections in boundedConn.
type boundedListener struct {
	net.Listener

	// waiting counts the bytes that are being written, on all connections.
	waiting *atomic.Int64
}

// Bound returns a listener whose connections have less time to write while much is unread.
func Bound(listener net.Listener) net.Listener { return boundedListener{listener, new(atomic.Int64)} }

// Accept implements net.Listener. It waits while the process has no file descriptor left: an error ends the
// server.
func (l boundedListener) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err == nil {
			return &boundedConn{Conn: conn, waiting: l.waiting}, nil
		}
		var number syscall.Errno
		if !errors.As(err, &number) || !number.Temporary() {
			return nil, err
		}
		<-time.After(acceptPause)
	}
}

// boundedConn is a connection whose writes have less time while many bytes wait to be read.
type boundedConn struct {
	net.Conn

	waiting *atomic.Int64
	// due is the deadline of writes; zero for none.
	due time.Time
}

// SetDeadline implements net.Conn.
func (c *boundedConn) SetDeadline(due time.Time) error {
	c.due = due
	return c.Conn.SetDeadline(due)
}

// SetWriteDeadline implements net.Conn.
func (c *boundedConn) SetWriteDeadline(due time.Time) error {
	c.due = due
	return c.Conn.SetWriteDeadline(due)
}

// Write implements net.Conn.
func (c *boundedConn) Write(b []byte) (int, error) {
	waiting := c.waiting.Add(int64(len(b)))
	defer c.waiting.Add(-int64(len(b)))
	if due := time.Now().Add(pressedWriteTimeout); waiting > maxWaitingBytes && (c.due.IsZero() || due.Before(c.due)) {
		if err := c.SetWriteDeadline(due); err != nil {
			return 0, err
		}
	}
	return c.Conn.Write(b)
}
