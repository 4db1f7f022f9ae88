// Package engine runs ClickHouse as a child of the service, so that a machine
// with nothing installed has a warehouse.
//
// The engine is the whole of ClickHouse in one shared library (see [Fetch]) or
// a recent clickhouse program (see [Locate]). It runs in a process of its own,
// listens on two loopback ports, and is used like any other ClickHouse server:
// by an address, a user and a password (see [Instance]).
//
// The child lives exactly as long as the pipe that its parent holds. A parent
// that ends, even by SIGKILL, takes the engine with it; an engine that ends
// before its parent is started again on the same ports.
package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"
)

const (
	// readyTimeout is how long an engine may take to answer its first query.
	// It takes 0.3 s when idle; the rest is for a machine under load.
	readyTimeout = 10 * time.Second

	// lockTimeout is how long Start waits for the previous engine of the folder
	// to end. It outlasts childGracePeriod, so a start right after a crash succeeds.
	lockTimeout = childGracePeriod + 3*time.Second

	// stopTimeout bounds Stop when its context has no deadline.
	stopTimeout = childGracePeriod + 7*time.Second

	// portAttempts is how often two free ports are looked for when another
	// process takes one between the look and the use.
	portAttempts = 3
)

// Options says what to run and where. DataDir and Program are required.
type Options struct {
	// DataDir is the folder that holds everything: data, configuration, lock.
	// It is created when missing, and belongs to one engine at a time.
	DataDir string

	// Program is what to run, as found by Locate.
	Program Program

	// Executable is a program that hands ChildCommand to RunChild. Empty means
	// the running one.
	Executable string

	// Logger is told of starts, ends and errors. Nil discards them.
	Logger *slog.Logger

	// Password of User. Empty means a random one for every start, which is
	// right unless engines have to know each other (see Shards).
	Password string

	// TCPPort and HTTPPort to listen on. Zero means free ones.
	TCPPort, HTTPPort int

	// Shards are the native addresses, "host:port", of the shards of the cluster
	// ClusterName, this engine among them. They share User and Password.
	Shards []string

	// MaxMemory bounds what the engine allocates, in bytes. Whatever it says,
	// 60 % of the machine's memory is the limit; zero means 16 GiB.
	MaxMemory int64
}

// Engine is a running ClickHouse and the ownership of its folder. Its methods
// may be called concurrently.
type Engine struct {
	options Options
	logger  *slog.Logger
	lock    *os.File

	cancel     context.CancelFunc
	supervised chan struct{} // closed when nothing starts processes any more
	stop       sync.Once
	stopErr    error

	mu       sync.Mutex
	instance Instance
	process  *process
}

// Start takes the folder, starts the engine and waits until it answers. The
// context bounds the start only: the engine runs until Stop.
//
// The error is [ErrInUse] when another process holds the folder. When the engine
// does not come up, the error repeats the last lines it wrote.
func Start(ctx context.Context, options Options) (*Engine, error) {
	options, err := withDefaults(options)
	if err != nil {
		return nil, err
	}
	lock, err := lockFolder(ctx, options.DataDir, lockTimeout)
	if err != nil {
		return nil, err
	}
	e := &Engine{
		options:    options,
		logger:     options.Logger,
		lock:       lock,
		supervised: make(chan struct{}),
	}
	if err := e.startFirst(ctx); err != nil {
		return nil, errors.Join(err, e.release())
	}
	life, cancel := context.WithCancel(context.WithoutCancel(ctx))
	e.cancel = cancel
	go e.supervise(life)
	return e, nil
}

// withDefaults checks options and fills in what was left out.
func withDefaults(options Options) (Options, error) {
	if options.DataDir == "" {
		return options, errors.New("engine options: no data folder")
	}
	if err := options.Program.check(); err != nil {
		return options, err
	}
	if options.Executable == "" {
		running, err := os.Executable()
		if err != nil {
			return options, fmt.Errorf("find the running program: %w", err)
		}
		options.Executable = running
	}
	// The engine has a working folder of its own.
	for _, path := range []*string{
		&options.DataDir, &options.Executable, &options.Program.Library, &options.Program.ClickHouse,
	} {
		if *path == "" {
			continue
		}
		absolute, err := filepath.Abs(*path)
		if err != nil {
			return options, fmt.Errorf("resolve %s: %w", *path, err)
		}
		*path = absolute
	}
	options.Logger = cmp.Or(options.Logger, slog.New(slog.DiscardHandler))
	options.Password = cmp.Or(options.Password, randomPassword())
	return options, nil
}

// startFirst brings up the first process, on ports of its choosing.
func (e *Engine) startFirst(ctx context.Context) error {
	var err error
	for range portAttempts {
		if e.instance, err = newInstance(e.options); err != nil {
			return err
		}
		if err = configure(e.options, e.instance); err != nil {
			return err
		}
		err = e.launch(ctx)
		if !errors.Is(err, errPortTaken) || e.options.TCPPort != 0 && e.options.HTTPPort != 0 {
			return err
		}
	}
	return err
}

// launch starts a process, waits until it answers, and publishes it in the
// folder. A process that does not answer is ended.
func (e *Engine) launch(ctx context.Context) error {
	began := time.Now()
	if err := removeStaleFiles(e.options.DataDir); err != nil {
		return err
	}
	p, err := startProcess(ctx, e.options, e.Instance(), e.lock)
	if err != nil {
		return err
	}
	if err := e.waitReady(ctx, p); err != nil {
		p.kill()
		return err
	}
	e.logger.LogAttrs(ctx, slog.LevelInfo, "engine ready",
		slog.Any("instance", e.Instance()), slog.Duration("took", time.Since(began)))
	return nil
}

// waitReady publishes p once it answers.
func (e *Engine) waitReady(ctx context.Context, p *process) error {
	if err := p.ready(ctx, e.Instance(), readyTimeout); err != nil {
		return err
	}
	e.mu.Lock()
	e.process, e.instance.EnginePID = p, p.pid()
	e.mu.Unlock()
	return e.Instance().publish(e.options.DataDir)
}

// Instance says how to reach the engine. Addresses and passwords stay the same
// for the life of the Engine; the process number changes with a restart.
func (e *Engine) Instance() Instance {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.instance
}

// Stop ends the engine and gives up the folder. Queries under way have two seconds
// to finish, or until the context is done; then the process is killed, which loses
// nothing that was acknowledged. Later calls return what the first one did.
func (e *Engine) Stop(ctx context.Context) error {
	e.stop.Do(func() {
		e.cancel()
		<-e.supervised
		ctx, cancel := context.WithTimeout(ctx, stopTimeout)
		defer cancel()
		e.process.stop(ctx)
		e.stopErr = e.release()
		e.logger.LogAttrs(ctx, slog.LevelInfo, "engine stopped", slog.Any("instance", e.Instance()))
	})
	return e.stopErr
}

// release withdraws the instance and gives up the folder, in this order: who
// takes the lock must not find the address of an engine that is gone.
func (e *Engine) release() error {
	return errors.Join(removeInstance(e.options.DataDir), e.lock.Close())
}
