// Package embedded runs the Redis of an instance that is configured with none.
//
// [Start] runs an installed redis-server as a child process: it listens on a Unix socket
// alone, and ends with this process even if that is killed. Where there is no usable
// redis-server, a Redis written in Go runs inside the process, which computes everything
// the same and takes longer. A server that is closed keeps its content in the data folder for
// the next start, which answers from it at once; a worker publishes again anyway.
package embedded

import (
	"context"
	"log/slog"
	"os/exec"
)

// Options configure a Redis.
type Options struct {
	// DataDir holds the socket and what is saved. The caller has locked it. Empty means a temporary folder.
	DataDir string
	Logger  *slog.Logger
}

// Redis is a running Redis.
type Redis struct {
	// URL is its address, with a password that is new at each start, but not when the server is restarted.
	URL string

	stop context.CancelFunc
	done <-chan struct{} // closed when the Redis has ended
}

// Start runs a Redis until Close. It returns when the Redis answers.
func Start(ctx context.Context, o Options) (*Redis, error) {
	life, stop := context.WithCancel(context.WithoutCancel(ctx))
	started, err := startServer(life, o)
	if err == nil {
		started.stop = stop
		return started, nil
	}
	o.Logger.LogAttrs(ctx, slog.LevelWarn, "Redis runs inside this process, where a publication takes longer: "+
		"install redis-server 7.0 or later, or set REDIS_URL", slog.Any("reason", err))
	address, err := StartInProcess(life)
	if err != nil {
		stop()
		return nil, err
	}
	return &Redis{URL: address, stop: stop, done: life.Done()}, nil
}

// Close ends the Redis. A server saves its content where it has a data folder.
func (r *Redis) Close() error {
	r.stop()
	<-r.done
	return nil
}

func startServer(ctx context.Context, o Options) (*Redis, error) {
	path, err := exec.LookPath(program)
	if err != nil {
		return nil, err
	}
	s, err := newServer(path, o)
	if err != nil {
		return nil, err
	}
	ready, done := make(chan error, 1), make(chan struct{})
	go func() {
		defer close(done)
		defer s.remove()
		s.supervise(ctx, ready)
	}()
	if err := <-ready; err != nil {
		<-done
		return nil, err
	}
	return &Redis{URL: s.url(), done: done}, nil
}
