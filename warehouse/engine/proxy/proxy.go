// Package proxy lets one user of a ClickHouse server in, over its native protocol and its
// HTTP interface, on one address.
//
// It is what analysts connect to. Two things are its purpose. No other user can be reached
// through it, whatever the passwords are. And no client can harm the server: the embedded
// engine aborts when a native client resets its connection at the wrong moment, or is
// refused at its sign-in. So the proxy checks the sign-in itself, and never passes on a
// reset: it ends a request by closing its own half of the connection to the server, which
// cancels the query, and reads what is left of the result. Everything is bounded:
// connections, requests, waits and sessions.
package proxy

import (
	"bufio"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"
)

const (
	// MaxConnections bounds the clients that are connected at the same time. More are
	// disconnected at once.
	MaxConnections = 64
	// helloTimeout bounds the time from a connection to the end of what says who connects.
	helloTimeout = 10 * time.Second
	// idleTimeout ends a connection over which nothing was sent in either direction.
	idleTimeout = 5 * time.Minute
	// maxSession bounds a connection of the native protocol, and one answer over HTTP.
	maxSession = time.Hour
	// writeTimeout bounds the wait for a client that takes nothing of its result. The
	// server would give up after 30 s.
	writeTimeout = 20 * time.Second
	// drainTimeout bounds the wait for the server to end a request whose client is gone.
	drainTimeout = time.Minute
	// dialTimeout bounds the connection to the server.
	dialTimeout = 5 * time.Second
)

// Options configure a Proxy. All but Logger are required.
type Options struct {
	// User is the only user that gets through, with Password.
	User, Password string
	// Database is the only database that a native client may open; default is another name of
	// it, for either protocol.
	Database string
	// TCPAddr and HTTPAddr are the addresses of the server's native protocol and HTTP
	// interface.
	TCPAddr, HTTPAddr string
	// Logger receives what goes wrong here; errors of a query go to its client.
	Logger *slog.Logger
}

// Proxy passes connections on until Close.
type Proxy struct {
	Options

	listener net.Listener
	server   *http.Server
	client   *http.Client
	// slots has room for MaxConnections.
	slots chan struct{}
	// web passes connections on to server.
	web chan net.Conn

	closed  chan struct{}
	running sync.WaitGroup

	mu sync.Mutex
	// open are the connections of clients.
	open map[net.Conn]bool
}

// Start serves on a listener until Close.
func Start(listener net.Listener, o Options) *Proxy {
	p := &Proxy{
		Options: o, listener: listener,
		slots: make(chan struct{}, MaxConnections), web: make(chan net.Conn),
		closed: make(chan struct{}), open: map[net.Conn]bool{},
	}
	p.client = newClient()
	p.server = &http.Server{
		Handler:           http.HandlerFunc(p.serveHTTP),
		ReadHeaderTimeout: helloTimeout,
		ReadTimeout:       2 * helloTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeader,
		ErrorLog:          slog.NewLogLogger(o.Logger.Handler(), slog.LevelDebug),
	}
	p.running.Go(p.accept)
	p.running.Go(func() { _ = p.server.Serve(webListener{p}) }) // it ends with Close
	return p
}

// Close stops serving, disconnects the clients, and waits until the server has ended their
// requests, until ctx is done at most.
func (p *Proxy) Close(ctx context.Context) error {
	close(p.closed)
	err := p.listener.Close()
	p.mu.Lock()
	open := slices.Collect(maps.Keys(p.open))
	p.mu.Unlock()
	for _, conn := range open {
		conn.Close()
	}
	err = errors.Join(err, p.server.Shutdown(ctx))
	ended := make(chan struct{})
	go func() {
		p.running.Wait()
		close(ended)
	}()
	select {
	case <-ended:
	case <-ctx.Done():
		err = errors.Join(err, ctx.Err())
	}
	return err
}

// accept serves clients as they connect.
func (p *Proxy) accept() {
	for {
		conn, err := p.listener.Accept()
		if err != nil {
			select {
			case <-p.closed:
				return
			case <-time.After(100 * time.Millisecond): // too many open files, for example
				p.Logger.Warn("connection of an analyst not accepted, retrying", slog.Any("error", err))
				continue
			}
		}
		select {
		case p.slots <- struct{}{}:
			p.running.Go(func() { p.serve(p.track(conn)) })
		default:
			conn.Close()
		}
	}
}

// track returns a connection that frees its slot when it is closed.
func (p *Proxy) track(conn net.Conn) *clientConn {
	tracked := &clientConn{Conn: conn, reader: bufio.NewReader(conn)}
	tracked.release = sync.OnceFunc(func() {
		p.mu.Lock()
		delete(p.open, tracked)
		p.mu.Unlock()
		<-p.slots
	})
	p.mu.Lock()
	p.open[tracked] = true
	p.mu.Unlock()
	select {
	case <-p.closed:
		conn.Close() // Close may have looked before
	default:
	}
	return tracked
}

// serve passes a connection to the protocol that its first byte belongs to: a native client
// begins with packet 0, HTTP with the name of a method.
func (p *Proxy) serve(conn *clientConn) {
	first, err := conn.peek()
	if err != nil {
		conn.Close()
		return
	}
	if first == helloPacket {
		p.serveNative(conn)
		return
	}
	select {
	case p.web <- conn:
	case <-p.closed:
		conn.Close()
	}
}

// refuse returns why a user is not let in, and "" for the one who is.
func (p *Proxy) refuse(user, password string) string {
	got, want := sha256.Sum256([]byte(password)), sha256.Sum256([]byte(p.Password))
	switch {
	case user != p.User:
		return fmt.Sprintf("only user %s may connect here", p.User)
	case subtle.ConstantTimeCompare(got[:], want[:]) != 1:
		return fmt.Sprintf("%s: Authentication failed: password is incorrect", user)
	}
	return ""
}

// clientConn is a client's connection of which the first bytes may have been read.
type clientConn struct {
	net.Conn

	reader  *bufio.Reader
	release func()
}

// peek returns the first byte that the client sends. It leaves a deadline set.
func (c *clientConn) peek() (byte, error) {
	if err := c.SetDeadline(time.Now().Add(helloTimeout)); err != nil {
		return 0, err
	}
	first, err := c.reader.Peek(1)
	if err != nil {
		return 0, err
	}
	return first[0], nil
}

// Read implements net.Conn.
func (c *clientConn) Read(to []byte) (int, error) { return c.reader.Read(to) }

// Close implements net.Conn.
func (c *clientConn) Close() error {
	defer c.release()
	return c.Conn.Close()
}

// webListener gives the HTTP server its connections.
type webListener struct{ *Proxy }

// Accept implements net.Listener.
func (l webListener) Accept() (net.Conn, error) {
	select {
	case conn := <-l.web:
		return conn, conn.SetDeadline(time.Time{})
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener. Proxy.Close does what is needed.
func (l webListener) Close() error { return nil }

// Addr implements net.Listener.
func (l webListener) Addr() net.Addr { return l.listener.Addr() }
