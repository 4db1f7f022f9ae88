// Package engine runs ClickHouse as a child process, so that the service needs no
// installed warehouse.
//
// [Start] runs the engine: ClickHouse in one shared library, which [Fetch] downloads and
// [Locate] finds. The child listens on two
// loopback ports and is used like any ClickHouse server, by an address, a user and a
// password (see [Instance]). [RunChild] is the child's side.
//
// The child runs until its parent closes a pipe. A parent that ends, even by SIGKILL, therefore ends the engine.
// If the engine ends first, the parent restarts it on the same ports. A lock admits one engine per data folder.
package engine

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	"pnyx/warehouse/engine/proxy"
)

const (
	// readyTimeout bounds the time to the first answer: 0.3 s idle, and many times as long on a busy machine.
	readyTimeout = time.Minute
	// lockTimeout is how long Start waits for the previous engine of the folder to end.
	// It outlasts childGracePeriod, so that a start right after a crash succeeds.
	lockTimeout = childGracePeriod + 3*time.Second
	// stopTimeout bounds Stop if its context has no deadline.
	stopTimeout = childGracePeriod + 7*time.Second
	// portAttempts is how often Start chooses free ports. Another process may take a
	// port before the engine listens on it.
	portAttempts = 3
)

// Options configure an engine. DataDir and Program are required.
type Options struct {
	// DataDir is the folder of data, configuration and lock, which one engine at a time uses. Start creates it.
	DataDir string
	Program Program // as Locate returns it
	// Executable is the path of a program that passes ChildCommand to RunChild. Empty means the running program.
	Executable string
	Logger     *slog.Logger // nil for none
	// Password is the password of User, the same in all engines of a cluster. Empty means a random one per start.
	Password string
	// TCPPort and HTTPPort are the ports to listen on. Zero means a free port.
	TCPPort, HTTPPort int
	// Shards are the native addresses, "host:port", of the shards of the cluster ClusterName, including this
	// engine. All share User and Password.
	Shards []string
	// AnalystListen is the address that lets in AnalystUser alone, over HTTP; empty for a free port of the loopback.
	AnalystListen string
	// AnalystPassword is AnalystUser's; empty means one that the data folder keeps, see PasswordPath.
	AnalystPassword string
	// AnalystGrants are all rights of AnalystUser, such as "SELECT ON pnyx_views.votes".
	AnalystGrants []string
	// AnalystLimits bound each query of AnalystUser. A zero field means its default.
	AnalystLimits AnalystLimits
	// MaxMemory bounds the engine's memory in bytes; zero means 16 GiB. 60 % of the machine's bounds it in any case.
	MaxMemory int64
}

// AnalystLimits bound one query.
type AnalystLimits struct {
	Time   time.Duration // 30 s by default
	Memory int64         // in bytes; 2 GiB by default
	Rows   int           // of the result; 1,000,000 by default. A longer result is an error.
}

// Engine is a running ClickHouse and the lock of its data folder. Its methods may be called concurrently.
type Engine struct {
	options Options
	logger  *slog.Logger
	lock    *os.File
	// users is the data folder, which AwaitUsers locks.
	users *os.File

	cancel     context.CancelFunc
	supervised chan struct{} // closed when supervise has returned
	stop       sync.Once
	stopErr    error
	// proxy is where analysts connect. It outlives restarts of the process.
	proxy *proxy.Proxy

	mu       sync.Mutex
	instance Instance
	process  *process
}

// Start locks the data folder, starts the engine and waits until it answers. The
// context bounds the start only: the engine runs until Stop.
//
// The error is [ErrInUse] if another process has locked the folder. If the engine does
// not start, the error contains the last lines of its output.
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
	listener, err := e.openForAnalysts()
	if err != nil {
		return nil, errors.Join(err, e.release())
	}
	if err := e.startFirst(ctx); err != nil {
		return nil, errors.Join(err, listener.Close(), e.release())
	}
	e.proxy = proxy.Start(listener, proxy.Options{
		User: AnalystUser, Password: e.options.AnalystPassword, Database: AnalystDatabase,
		Settings: AnalystSettingNames(), HTTPAddr: e.instance.HTTPAddr, Logger: e.logger,
	})
	life, cancel := context.WithCancel(context.WithoutCancel(ctx))
	e.cancel = cancel
	go e.supervise(life)
	return e, nil
}

// openForAnalysts opens the address of Options.AnalystListen, and sets it and the password
// of AnalystUser in the options. Nothing is accepted there yet.
func (e *Engine) openForAnalysts() (net.Listener, error) {
	o := &e.options
	if o.AnalystPassword == "" {
		var err error
		if o.AnalystPassword, err = keptPassword(PasswordPath(o.DataDir)); err != nil {
			return nil, err
		}
	}
	address := cmp.Or(o.AnalystListen, net.JoinHostPort(loopback, "0"))
	listener, err := net.Listen("tcp", address) //nolint:noctx // it ends with the engine
	if err != nil {
		return nil, fmt.Errorf("listen for analysts: %w", err)
	}
	o.AnalystListen = listener.Addr().String()
	return listener, nil
}

func withDefaults(options Options) (Options, error) {
	if options.DataDir == "" {
		return options, errors.New("start engine: Options.DataDir is empty")
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
	// The engine has another working directory, so all paths must be absolute.
	for _, path := range []*string{&options.DataDir, &options.Executable, &options.Program.Library} {
		absolute, err := filepath.Abs(*path)
		if err != nil {
			return options, fmt.Errorf("resolve %s: %w", *path, err)
		}
		*path = absolute
	}
	options.Logger = cmp.Or(options.Logger, slog.New(slog.DiscardHandler))
	options.Password = cmp.Or(options.Password, rand.Text())
	return options, nil
}

// startFirst starts the first process. It chooses other ports if a port is taken.
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

// launch starts a process, waits until it answers, or else kills it, and publishes it in the data folder.
func (e *Engine) launch(ctx context.Context) error {
	start := time.Now()
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
		slog.Any("instance", e.Instance()), slog.Duration("duration", time.Since(start)))
	return nil
}

// waitReady waits until p answers, then sets it as the engine's process and publishes the instance.
func (e *Engine) waitReady(ctx context.Context, p *process) error {
	if err := p.ready(ctx, e.Instance(), readyTimeout); err != nil {
		return err
	}
	e.mu.Lock()
	e.process, e.instance.EnginePID = p, p.pid()
	e.mu.Unlock()
	return e.Instance().publish(e.options.DataDir)
}

// Instance returns addresses and credentials, which stay until Stop; EnginePID changes with a restart.
func (e *Engine) Instance() Instance {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.instance
}

// AwaitUsers waits until no other process uses the engine, or until ctx ends; in the first case
// none begins to. Stop follows.
func (e *Engine) AwaitUsers(ctx context.Context) {
	waiting := time.AfterFunc(time.Second, func() {
		e.logger.LogAttrs(ctx, slog.LevelWarn, "other commands use the engine of this one, waiting for them")
	})
	defer waiting.Stop()
	var err error
	if e.users, err = os.Open(e.options.DataDir); err == nil {
		_ = awaitLock(ctx, e.users) // without the lock it is stopped, too
	}
}

// Stop stops the engine and unlocks the data folder. Running queries have two seconds, or until the context is
// done; then Stop kills the process, which loses no acknowledged data. Later calls return the first result.
func (e *Engine) Stop(ctx context.Context) error {
	e.stop.Do(func() {
		e.cancel()
		<-e.supervised
		ctx, cancel := context.WithTimeout(ctx, stopTimeout)
		defer cancel()
		proxyErr := e.proxy.Close(ctx)
		e.process.stop(ctx)
		e.stopErr = errors.Join(proxyErr, e.release())
		e.logger.LogAttrs(ctx, slog.LevelInfo, "engine stopped", slog.Any("instance", e.Instance()))
	})
	return e.stopErr
}

// release removes the published instance and unlocks the folder, in this order: the next
// holder of the lock must not find the address of a stopped engine.
func (e *Engine) release() error {
	err := errors.Join(removeInstance(e.options.DataDir), e.lock.Close())
	_ = e.users.Close() // nil where nobody was waited for
	return err
}
