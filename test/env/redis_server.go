package env

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// startTries is how many ports are tried: another process may take one in the
// moment between its choice and its use.
const startTries = 5

// RedisServer is a redis-server that keeps nothing on disk.
type RedisServer struct {
	// URL is its address, the same after a Restart.
	URL string

	tb   testing.TB
	path string
	// file is the configuration that a Sentinel keeps; others have none.
	file    string
	addr    string
	args    []string
	process *process
}

// process is one life of a server.
type process struct {
	command *exec.Cmd
	output  Buffer
	exited  chan struct{}
}

// Redis starts a redis-server on a free port until the end of tb. It skips
// the test when there is no such program.
func Redis(tb testing.TB) *RedisServer {
	tb.Helper()
	s := newServer(tb, redisServerPath(tb))
	s.start()
	return s
}

// RestoredRedis is Redis with the dump.rdb of a folder, if there is one; SAVE writes it
// there.
func RestoredRedis(tb testing.TB, dir string) *RedisServer {
	tb.Helper()
	s := newServer(tb, redisServerPath(tb), "--dir", dir)
	s.start()
	return s
}

// newServer prepares a server with further arguments.
func newServer(tb testing.TB, path string, args ...string) *RedisServer {
	tb.Helper()
	s := &RedisServer{tb: tb, path: path, args: append([]string{
		"--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", tb.TempDir(),
	}, args...)}
	tb.Cleanup(s.Kill)
	return s
}

// Kill ends the server at once, and with it what it held.
func (s *RedisServer) Kill() {
	if s.process == nil {
		return
	}
	s.signal(syscall.SIGKILL)
	<-s.process.exited
	s.process = nil
}

// Restart starts the server again after a Kill, empty, at its old address.
func (s *RedisServer) Restart() {
	s.tb.Helper()
	s.Kill()
	if err := s.launch(); err != nil {
		s.tb.Fatal(err)
	}
}

// Pause makes the server hang: it keeps its connections and accepts new ones, but
// does not answer until Resume.
func (s *RedisServer) Pause() {
	s.signal(syscall.SIGSTOP)
}

// Resume lets the server answer again after a Pause.
func (s *RedisServer) Resume() {
	s.signal(syscall.SIGCONT)
}

func (s *RedisServer) signal(signal syscall.Signal) {
	_ = s.process.command.Process.Signal(signal) // it may have ended
}

// start launches the server on a free port.
func (s *RedisServer) start() {
	s.tb.Helper()
	var problems []error
	for range startTries {
		s.addr = FreeAddress(s.tb)
		s.URL = "redis://" + s.addr
		err := s.launch()
		if err == nil {
			return
		}
		problems = append(problems, err)
	}
	s.tb.Fatal(errors.Join(problems...))
}

// launch starts the server and waits until it answers, or has ended.
func (s *RedisServer) launch() error {
	s.tb.Helper()
	_, port, err := net.SplitHostPort(s.addr)
	if err != nil {
		return fmt.Errorf("address of %s: %w", program, err)
	}
	s.process = &process{exited: make(chan struct{})}
	args := append([]string{"--port", port}, s.args...)
	if s.file != "" {
		args = append([]string{s.file, "--sentinel"}, args...)
	}
	command := exec.Command(s.path, args...) //nolint:noctx,gosec // Kill ends it
	command.Stdout, command.Stderr = &s.process.output, &s.process.output
	if err := command.Start(); err != nil {
		s.process = nil
		return fmt.Errorf("start %s: %w", program, err)
	}
	s.process.command = command
	go func(p *process) {
		defer close(p.exited)
		_ = p.command.Wait() // killed, as a rule
	}(s.process)
	return s.answers()
}

// answers waits for the first answer.
func (s *RedisServer) answers() error {
	s.tb.Helper()
	var ended error
	Until(s.tb, func() error {
		select {
		case <-s.process.exited:
			ended = fmt.Errorf("%s at %s has ended: %s", program, s.addr, &s.process.output)
			s.process = nil
			return nil
		default:
			return ping(context.WithoutCancel(s.tb.Context()), s.addr)
		}
	})
	return ended
}

// ping asks for a sign of life without a client, which would log every failure.
func ping(ctx context.Context, addr string) error {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
	if err != nil {
		return fmt.Errorf("ping: %w", err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(soon)); err != nil {
		return fmt.Errorf("ping %s: %w", addr, err)
	}
	if _, err := io.WriteString(conn, "PING\r\n"); err != nil {
		return fmt.Errorf("ping %s: %w", addr, err)
	}
	line, err := bufio.NewReader(conn).ReadString('\n')
	if err != nil {
		return fmt.Errorf("ping %s: %w", addr, err)
	}
	if line != "+PONG\r\n" {
		return fmt.Errorf("ping %s: got %q", addr, line)
	}
	return nil
}

// client connects to this server alone.
func (s *RedisServer) client() *redis.Client {
	return redis.NewClient(&redis.Options{Addr: s.addr, MaxRetries: -1, DialerRetries: 1})
}
