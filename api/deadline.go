package api

import (
	"errors"
	"net"
	"os"
	"time"
)

// lazyListener gives its connections lazy deadlines.
type lazyListener struct{ net.Listener }

// Accept implements net.Listener.
func (l lazyListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &lazyConn{Conn: conn}, nil
}

// lazyConn sets a timer only where the one that is set would ring too late. The server
// moves its deadlines three times a request, nearly always to a later moment, and each
// time would cost what a fifth of a hit does. What rings too early is set again. Like
// the server itself, it reads from one goroutine and writes from one.
type lazyConn struct {
	net.Conn

	reading, writing lazyDeadline
}

// lazyDeadline is when something is due, and when the timer rings: not later.
type lazyDeadline struct{ due, rings time.Time }

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
		if n > 0 || !c.reading.rangEarly(err, c.Conn.SetReadDeadline) {
			return n, err
		}
	}
}

// Write implements net.Conn.
func (c *lazyConn) Write(b []byte) (written int, err error) {
	for {
		n, err := c.Conn.Write(b[written:])
		written += n
		if !c.writing.rangEarly(err, c.Conn.SetWriteDeadline) {
			return written, err
		}
	}
}

// move has the deadline be at another moment; the zero time is never.
func (d *lazyDeadline) move(due time.Time, set func(time.Time) error) error {
	d.due = due
	if !d.rings.IsZero() && !due.IsZero() && !due.Before(d.rings) {
		return nil
	}
	d.rings = due
	return set(due)
}

// rangEarly says whether an error is that of a timer which rang before anything was
// due, and sets it again.
func (d *lazyDeadline) rangEarly(err error, set func(time.Time) error) bool {
	if !errors.Is(err, os.ErrDeadlineExceeded) || !time.Now().Before(d.due) {
		return false
	}
	d.rings = d.due
	return set(d.due) == nil
}
