package env

import (
	"context"
	"fmt"
	"net"
	"testing"

	"github.com/redis/go-redis/v9"
)

// RedisServer is a redis-server without files, which stays at its address when it is restarted.
type RedisServer struct {
	*Process

	// URL and Addr are its address, with and without a scheme.
	URL, Addr string

	// file is the configuration that a Sentinel keeps; other servers have none.
	file string
	// bus is the port on which nodes of a cluster talk to each other.
	bus string
	// options are the arguments after the port and the file.
	options []string
}

// Redis starts a redis-server on a free port until the end of tb, or skips the test.
func Redis(tb testing.TB) *RedisServer {
	tb.Helper()
	return RestoredRedis(tb, tb.TempDir())
}

// RestoredRedis is Redis with the dump.rdb of a folder, if there is one; SAVE writes it.
func RestoredRedis(tb testing.TB, dir string) *RedisServer {
	tb.Helper()
	s := newServer(tb, redisServerPath(tb), "--dir", dir)
	s.start()
	return s
}

func newServer(tb testing.TB, path string, args ...string) *RedisServer {
	tb.Helper()
	return &RedisServer{Process: NewProcess(tb, path, nil), options: append([]string{
		"--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", tb.TempDir(),
	}, args...)}
}

// Restart kills the server and starts it again, empty, at its old address.
func (s *RedisServer) Restart() {
	s.tb.Helper()
	s.Kill()
	MustDo(s.tb, s.launch())
}

// start launches the server on a free port.
func (s *RedisServer) start() {
	s.tb.Helper()
	s.Addr = FreeAddress(s.tb)
	s.URL = "redis://" + s.Addr
	MustDo(s.tb, s.launch())
}

// launch starts the server and waits until it answers, or has ended.
func (s *RedisServer) launch() error {
	s.tb.Helper()
	_, port, err := net.SplitHostPort(s.Addr)
	if err != nil {
		return fmt.Errorf("address of %s: %w", program, err)
	}
	s.args = append([]string{"--port", port}, s.options...)
	if s.file != "" {
		s.args = append([]string{s.file, "--sentinel"}, s.args...)
	}
	if err := s.Process.start(); err != nil {
		return err
	}
	Until(s.tb, func() error {
		if s.Err() == nil {
			return s.ask("ping").Err()
		}
		return nil // the process has ended: there is nothing to wait for, and start returns its error
	})
	return s.Err()
}

// ask runs a command on this server alone.
func (s *RedisServer) ask(command ...any) *redis.Cmd {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(s.tb.Context()), soon)
	defer cancel()
	client := redis.NewClient(&redis.Options{Addr: s.Addr, MaxRetries: -1, DialerRetries: 1})
	defer client.Close()
	answer := client.Do(ctx, command...)
	if err := answer.Err(); err != nil {
		answer.SetErr(fmt.Errorf("%v on %s: %w", command, s.Addr, err))
	}
	return answer
}
