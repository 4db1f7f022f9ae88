package api

import (
	"errors"
	"net"
	"os"
	"sync/atomic"
	"time"
)

// While more than maxWaitingBytes wait for callers to read them, a caller has
// pressedWriteTimeout for each write: slow readers do not fill the memory of a node.
const (
	maxWaitingBytes     = 32 << 20
	pressedWriteTimeout = 2 * time.Second
)

// lazyListener wraps its connections in lazyConn.
type lazyListener struct {
	net.Listener

	// waiting counts the bytes that are being written, on all connections.
	waiting *atomic.Int64
}

// Accept implements net.Listener.
func (l lazyListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &lazyConn{Conn: conn, waiting: l.waiting}, nil
}

// lazyConn is a connection that moves the timer of a deadline only when the deadline
// becomes earlier; a timer that fires before the deadline is set again. fasthttp moves
// its deadlines three times a request, nearly always to a later time, and moving a timer
// each time takes a fifth of the time of a cache hit. Like fasthttp, it supports one
// concurrent reader and one concurrent writer.
type lazyConn struct {
	net.Conn

	reading, writing lazyDeadline
	waiting          *atomic.Int64
}

// lazyDeadline is a deadline, and the time at which its timer fires: never later than due.
type lazyDeadline struct{ due, fires time.Time }

// SetReadDeadline implements net.Conn.
func (c *lazyConn) SetReadDeadline(due time.Time) error {
	return c.reading.move(due, c.Conn.SetReadDeadline)
}

// SetWriteDeadline implements net.Conn.
func (c *lazyConn) SetWriteDeadline(due time.Time) error {
	return c.writing.move(due, c.Conn.SetWriteDeadline)
}

// SetDeadline implements net.Conn.
func (c *lazyConn) SetDeadline(due time.Time) error {
	return errors.Join(c.SetReadDeadline(due), c.SetWriteDeadline(due))
}

// Read implements net.Conn.
func (c *lazyConn) Read(b []byte) (int, error) {
	for {
		n, err := c.Conn.Read(b)
		if n > 0 || !c.reading.firedEarly(err, c.Conn.SetReadDeadline) {
			return n, err
		}
	}
}

// Write implements net.Conn.
func (c *lazyConn) Write(b []byte) (written int, err error) {
	waiting := c.waiting.Add(int64(len(b)))
	defer c.waiting.Add(-int64(len(b)))
	if waiting > maxWaitingBytes {
		due := time.Now().Add(pressedWriteTimeout)
		if c.writing.due.IsZero() || due.Before(c.writing.due) {
			if err := c.SetWriteDeadline(due); err != nil {
				return 0, err
			}
		}
	}
	for {
		n, err := c.Conn.Write(b[written:])
		written += n
		if !c.writing.firedEarly(err, c.Conn.SetWriteDeadline) {
			return written, err
		}
	}
}

// move moves the deadline; the zero time is no deadline.
func (d *lazyDeadline) move(due time.Time, set func(time.Time) error) error {
	d.due = due
	if !d.fires.IsZero() && !due.IsZero() && !due.Before(d.fires) {
		return nil
	}
	d.fires = due
	return set(due)
}

// firedEarly reports whether err is that of a timer that fired before the deadline. It
// sets the timer again.
func (d *lazyDeadline) firedEarly(err error, set func(time.Time) error) bool {
	if !errors.Is(err, os.ErrDeadlineExceeded) || !time.Now().Before(d.due) {
		return false
	}
	d.fires = d.due
	return set(d.due) == nil
}
