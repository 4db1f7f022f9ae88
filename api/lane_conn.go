package api

import (
	"errors"
	"net"
	"net/netip"
	"sync/atomic"
	"time"
)

// laneListener wraps its connections in laneConn.
type laneListener struct {
	net.Listener

	lane *fastLane
}

// Accept implements net.Listener.
func (l laneListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return newLaneConn(conn, l.lane), nil
}

// laneConn is a connection whose requests are offered to the fast lane before fasthttp reads
// them. fasthttp always gets the first one: from then on it counts the connection as idle
// while the lane answers, and closes it when the server shuts down. Like fasthttp, it
// supports one concurrent reader and one concurrent writer.
type laneConn struct {
	net.Conn

	lane *fastLane
	// peer is the address of the client.
	peer netip.Addr
	// used says that fasthttp got a request.
	used bool
	// whole says that everything read so far was whole requests without bodies, so that the
	// next byte begins a request. Once it is false, it stays so.
	whole bool
	// header is that of the last request.
	header laneHeader
	// state orders the answers of the lane and Close.
	state atomic.Int32
}

func newLaneConn(conn net.Conn, lane *fastLane) *laneConn {
	c := &laneConn{Conn: conn, lane: lane, whole: true}
	if address, is := conn.RemoteAddr().(*net.TCPAddr); is {
		c.peer = address.AddrPort().Addr()
	}
	return c
}

// The states of a laneConn. A connection that is closed while the lane writes an answer is
// closing until the answer is written.
const (
	laneIdle = iota
	laneBusy
	laneClosing
	laneClosed
)

// Read implements net.Conn. It returns what the lane leaves to fasthttp.
func (c *laneConn) Read(b []byte) (int, error) {
	for {
		n, err := c.Conn.Read(b)
		if err != nil || !c.whole {
			return n, err
		}
		var request laneRequest
		request, c.whole = c.header.read(b[:n])
		if !c.used || !request.plain {
			c.used = true
			return n, nil
		}
		switch answered, err := c.answer(request); {
		case err != nil:
			return 0, err
		case !answered:
			return n, nil
		}
	}
}

// answer offers a request to the lane.
func (c *laneConn) answer(request laneRequest) (answered bool, err error) {
	if !c.state.CompareAndSwap(laneIdle, laneBusy) {
		return false, net.ErrClosed
	}
	answered, err = c.lane.answer(c, request)
	if !c.state.CompareAndSwap(laneBusy, laneIdle) {
		c.state.Store(laneClosed)
		return false, errors.Join(err, c.Conn.Close(), net.ErrClosed)
	}
	return answered, err
}

// write writes an answer, and waits for the next request as long as fasthttp does.
func (c *laneConn) write(text []byte, now time.Time) error {
	if err := c.SetWriteDeadline(now.Add(writeTimeout)); err != nil {
		return err
	}
	if _, err := c.Write(text); err != nil {
		return err
	}
	return c.SetReadDeadline(now.Add(idleTimeout))
}

// Close implements net.Conn. It does not cut an answer of the lane off.
func (c *laneConn) Close() error {
	if c.state.CompareAndSwap(laneBusy, laneClosing) || c.state.Load() == laneClosing {
		return nil
	}
	c.state.Store(laneClosed)
	return c.Conn.Close()
}
