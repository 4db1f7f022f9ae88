package proxy

import (
	"errors"
	"io"
	"log/slog"
	"net"
	"sync"
	"time"
)

// Relay passes connections of the native protocol on to the server, whoever signs in: it is
// where the processes connect that may end at any time, such as an import. Like Proxy, it
// never passes on a reset.
type Relay struct {
	listener net.Listener
	server   string
	logger   *slog.Logger

	running sync.WaitGroup
	mu      sync.Mutex
	// clients is nil after Close.
	clients map[net.Conn]bool
	closed  chan struct{}
}

// StartRelay passes the connections of a listener on to a server's address until Close.
func StartRelay(listener net.Listener, server string, logger *slog.Logger) *Relay {
	r := &Relay{listener: listener, server: server, logger: logger, clients: map[net.Conn]bool{}, closed: make(chan struct{})}
	r.running.Go(r.accept)
	return r
}

// Close stops serving and disconnects the clients.
func (r *Relay) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for client := range r.clients {
		client.Close()
	}
	r.clients = nil
	close(r.closed)
	return r.listener.Close()
}

// Wait waits after Close until the server has ended the connections, for drainTimeout at
// most.
func (r *Relay) Wait() { r.running.Wait() }

func (r *Relay) accept() {
	for {
		client, err := r.listener.Accept()
		switch {
		case errors.Is(err, net.ErrClosed):
			return
		case err != nil:
			r.logger.Warn("connection to the engine not accepted, retrying", slog.Any("error", err))
			select {
			case <-r.closed:
			case <-time.After(100 * time.Millisecond): // too many open files, for example
			}
		case !r.track(client):
			client.Close()
		default:
			r.running.Go(func() { r.serve(client) })
		}
	}
}

// track notes a client for Close, and reports whether Close is still to come.
func (r *Relay) track(client net.Conn) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.clients != nil {
		r.clients[client] = true
	}
	return r.clients != nil
}

// serve copies until either side ends. A client finds its connection closed when the server
// does not accept it.
func (r *Relay) serve(client net.Conn) {
	defer func() {
		client.Close()
		r.mu.Lock()
		delete(r.clients, client)
		r.mu.Unlock()
	}()
	dialed, err := net.DialTimeout("tcp", r.server, dialTimeout) //nolint:noctx // the time is bounded
	if err != nil {
		return
	}
	server := dialed.(*net.TCPConn) //nolint:errcheck,forcetypeassert // the network is tcp
	defer server.Close()
	r.running.Go(func() {
		_, _ = io.Copy(server, client)
		// The server ends a running query when the requests end, and then the connection.
		_ = server.CloseWrite()
		_ = server.SetReadDeadline(time.Now().Add(drainTimeout))
	})
	if _, err := io.Copy(client, server); err != nil {
		client.Close()
		_, _ = io.Copy(io.Discard, server)
	}
}
