// Package proxy lets one user of a ClickHouse server in, over its HTTP interface.
//
// It is what analysts connect to. No other user can be reached through it, whatever the
// passwords are. It passes on what its lists name and refuses the rest: parameters of a
// URL, methods, types of a body. The server enforces what the user may do. Everything is
// bounded: connections, requests, sessions, waits and answers.
package proxy

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"
)

const (
	// MaxConnections bounds the connected clients. More are disconnected at once.
	MaxConnections = 64
	// headerTimeout bounds the time from the beginning of a request to the end of its
	// header, and bodyTimeout to the end of its body.
	headerTimeout = 10 * time.Second
	bodyTimeout   = 20 * time.Second
	// idleTimeout ends a connection over which no request came.
	idleTimeout = 5 * time.Minute
	maxAnswer   = time.Hour
	// writeTimeout bounds the wait for a client that takes nothing of its result. The
	// server would give up after 30 s.
	writeTimeout = 20 * time.Second
	// dialTimeout bounds the connection to the server.
	dialTimeout = 5 * time.Second
)

// Options configure a Proxy. All but Settings and Logger are required.
type Options struct {
	// User is the only user that gets through, with Password.
	User, Password string
	// Database is the one that the user asks where a client names the database default.
	Database string
	// Settings are the settings of ClickHouse that a request may have as parameters.
	Settings []string
	// HTTPAddr is the address of the server's HTTP interface.
	HTTPAddr string
	// Logger receives what goes wrong here; errors of a query go to its client.
	Logger *slog.Logger
}

// Proxy passes requests on until Close.
type Proxy struct {
	Options
	server   *http.Server
	client   *http.Client
	sessions sessions

	mu     sync.Mutex
	closed bool
	// serving counts what Close waits for.
	serving sync.WaitGroup
}

// Start serves on a listener until Close.
func Start(listener net.Listener, o Options) *Proxy {
	p := &Proxy{Options: o}
	p.Settings = slices.Sorted(slices.Values(o.Settings))
	p.client = &http.Client{Transport: &http.Transport{
		DialContext:        (&net.Dialer{Timeout: dialTimeout}).DialContext,
		DisableKeepAlives:  true,
		DisableCompression: true,
	}}
	p.server = &http.Server{
		Handler:           http.HandlerFunc(p.serveHTTP),
		ReadHeaderTimeout: headerTimeout,
		ReadTimeout:       bodyTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeader,
		ErrorLog:          slog.NewLogLogger(o.Logger.Handler(), slog.LevelDebug),
	}
	bounded := &listenerOfFew{Listener: listener, slots: make(chan struct{}, MaxConnections)}
	p.serving.Go(func() { _ = p.server.Serve(bounded) }) // it ends with Close
	return p
}

// Close stops serving, disconnects the clients, which ends their queries, and waits for that until ctx is done.
func (p *Proxy) Close(ctx context.Context) error {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	err := p.server.Close()
	ended := make(chan struct{})
	go func() {
		p.serving.Wait()
		close(ended)
	}()
	select {
	case <-ended:
	case <-ctx.Done():
		err = errors.Join(err, ctx.Err())
	}
	return err
}

// begin notes a request for Close, and reports whether Close is still to come.
func (p *Proxy) begin() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.closed {
		p.serving.Add(1)
	}
	return !p.closed
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

// listenerOfFew accepts a connection for each of its slots, and closes all others.
type listenerOfFew struct {
	net.Listener
	slots chan struct{}
}

// Accept implements net.Listener.
func (l *listenerOfFew) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		select {
		case l.slots <- struct{}{}:
			return &connOfFew{Conn: conn, release: sync.OnceFunc(func() { <-l.slots })}, nil
		default:
			conn.Close()
		}
	}
}

// connOfFew frees its slot when it is closed.
type connOfFew struct {
	net.Conn
	release func()
}

// Close implements net.Conn.
func (c *connOfFew) Close() error {
	defer c.release()
	return c.Conn.Close()
}
