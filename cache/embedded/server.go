package embedded

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"pnyx/backoff"
)

const (
	program = "redis-server"
	// minMajor is the major version from which on cache.Store.CheckServers accepts a server.
	minMajor = 7
	// readyTimeout bounds the time until a server answers. It takes 20 ms on an idle machine.
	readyTimeout = 30 * time.Second
	// minPause and maxPause bound the time before a server that ended is started again.
	minPause = 100 * time.Millisecond
	maxPause = 10 * time.Second
	// stableAfter is how long a server must run for the pause to be minPause again.
	stableAfter = time.Minute
	socketName  = "redis.sock"
	// savedName is the file with the content of a server that was closed. It is there from Close to
	// the next start, so that a server that is killed leaves nothing that is outdated later.
	savedName = "redis.rdb"
	// saveTimeout bounds the time of saving. A gigabyte takes some seconds.
	saveTimeout = 20 * time.Second
	// maxSocketPath is the longest path of a Unix socket in bytes; Linux allows 107, others a few less.
	maxSocketPath = 103
	// memoryShare bounds what a server holds: the machine's memory divided by it.
	memoryShare = 4
)

// server is a redis-server that is started again whenever it ends.
type server struct {
	path     string // of the program
	folder   string // of the socket, absolute
	isTemp   bool   // whether the folder is removed at the end
	password string
	logger   *slog.Logger
}

// newServer prepares a server with its socket in the data folder, or in a temporary one if the path is too long.
func newServer(path string, o Options) (*server, error) {
	s := &server{path: path, password: rand.Text(), logger: o.Logger}
	var err error
	if s.folder, err = filepath.Abs(o.DataDir); err != nil {
		return nil, fmt.Errorf("folder of the redis socket: %w", err)
	}
	if o.DataDir == "" || len(s.socket()) > maxSocketPath {
		if s.folder, err = os.MkdirTemp("", "pnyx-"); err != nil {
			return nil, fmt.Errorf("folder of the redis socket: %w", err)
		}
		s.isTemp = true
	}
	return s, nil
}

func (s *server) saved() string { return filepath.Join(s.folder, savedName) }

func (s *server) socket() string { return filepath.Join(s.folder, socketName) }

func (s *server) url() string {
	address := url.URL{Scheme: "unix", User: url.UserPassword("", s.password), Path: s.socket()}
	return address.String()
}

// remove removes the socket of a server that has ended. The next server replaces what cannot be removed.
func (s *server) remove() {
	_ = os.Remove(s.socket())
	if s.isTemp {
		_ = os.Remove(s.folder)
	}
}

// config is the server's standard input, since its arguments are visible to other users. The relative path
// of the socket needs no quotes. With hz 2 an idle server wakes twice a second instead of ten times.
func (s *server) config() string {
	return strings.Join([]string{
		"port 0", "unixsocket " + socketName, "unixsocketperm 700", "requirepass " + s.password,
		`save ""`, "dbfilename " + savedName, "appendonly no", "maxmemory-policy volatile-lru", "hz 2", "",
	}, "\n")
}

// supervise runs the server until ctx ends, and starts it again whenever it ends before. It sends to ready whether
// the first start succeeded, and returns if it did not.
func (s *server) supervise(ctx context.Context, ready chan<- error) {
	// The kernel ends the server with the thread that started it. A locked thread lasts as long as this goroutine.
	runtime.LockOSThread()
	answered := false
	for pause := minPause; ; pause = min(2*pause, maxPause) {
		began := time.Now()
		err := s.run(ctx, func() {
			if !answered {
				answered = true
				ready <- nil
			}
		})
		switch {
		case !answered && ctx.Err() == nil && os.Remove(s.saved()) == nil:
			s.logger.LogAttrs(ctx, slog.LevelWarn, "redis-server does not start with what was saved, starting it empty", slog.Any("error", err))
			continue
		case !answered:
			ready <- err
			return
		case ctx.Err() != nil:
			return
		case time.Since(began) >= stableAfter:
			pause = minPause
		}
		s.logger.LogAttrs(ctx, slog.LevelError, "redis-server ended unexpectedly, restarting it empty",
			slog.Any("error", err), slog.Duration("pause", pause))
		backoff.Wait(ctx, pause)
	}
}

// run starts the server, calls onReady when it answers, and returns when it has ended. The end of ctx ends it.
func (s *server) run(ctx context.Context, onReady func()) error {
	p, err := s.start(ctx)
	if err != nil {
		return err
	}
	if err := s.answers(ctx, p); err != nil {
		_ = p.command.Process.Kill() // it may have ended
		<-p.exited
		return fmt.Errorf("%s: %w%s", s.path, err, p.tail())
	}
	if err := os.Remove(s.saved()); err != nil && !errors.Is(err, os.ErrNotExist) {
		s.logger.LogAttrs(ctx, slog.LevelWarn, "removing the saved content of redis-server failed, remove it before the next start", slog.Any("error", err))
	}
	onReady()
	<-p.exited
	return fmt.Errorf("%s: %w%s", s.path, p.err, p.tail())
}

func (s *server) answers(ctx context.Context, p *process) error {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	select {
	case <-p.ready:
	case <-p.exited:
		return p.err
	case <-ctx.Done():
		return fmt.Errorf("is not ready: %w", ctx.Err())
	}
	client := s.client()
	defer client.Close()
	info, err := client.InfoMap(ctx).Result()
	if err != nil {
		return fmt.Errorf("is ready and does not answer: %w", err)
	}
	version := info["Server"]["redis_version"]
	if err := checkVersion(version); err != nil {
		return err
	}
	total, err := strconv.ParseUint(info["Memory"]["total_system_memory"], 10, 64)
	if err != nil {
		return fmt.Errorf("does not report the memory of the machine: %w", err)
	}
	limit := strconv.FormatUint(total/memoryShare, 10)
	if err := client.ConfigSet(ctx, "maxmemory", limit).Err(); err != nil {
		return fmt.Errorf("set maxmemory: %w", err)
	}
	s.logger.LogAttrs(ctx, slog.LevelInfo, "redis-server ready", slog.String("version", version),
		slog.String("program", s.path), slog.String("socket", s.socket()), slog.String("maxmemory", limit))
	return nil
}

func (s *server) client() *redis.Client {
	return redis.NewClient(&redis.Options{
		Network: "unix", Addr: s.socket(), Password: s.password, MaxRetries: -1, ContextTimeoutEnabled: true, ReadTimeout: saveTimeout,
	})
}

// end ends a server, which saves its content where the folder stays.
func (s *server) end(ctx context.Context, process *os.Process) error {
	if s.isTemp {
		return process.Kill()
	}
	ctx, cancel := context.WithTimeout(ctx, saveTimeout)
	defer cancel()
	client := s.client()
	defer client.Close()
	if err := client.ShutdownSave(ctx).Err(); err != nil {
		_ = os.Remove(s.saved()) // which may be cut
		return process.Kill()
	}
	return os.Chmod(s.saved(), 0o600)
}

var errOldVersion = fmt.Errorf("want version %d.0 or later", minMajor)

func checkVersion(version string) error {
	major, _, _ := strings.Cut(version, ".")
	if number, err := strconv.Atoi(major); err != nil || number < minMajor {
		return fmt.Errorf("is version %q: %w", version, errOldVersion)
	}
	return nil
}
