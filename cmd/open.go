package cmd

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"pnyx/backoff"
	"pnyx/cache"
	"pnyx/cache/embedded"
	"pnyx/config"
	"pnyx/warehouse"
	"pnyx/warehouse/engine"
)

const (
	stopTimeout = 10 * time.Second // for one part
	// reachTimeout is how long a command waits for the engine of a process that has the data folder. That engine
	// answers within a minute of its start, or ends.
	reachTimeout                    = 2 * time.Minute
	reachInterval, reachLogInterval = 100 * time.Millisecond, 10 * time.Second
	engineWait                      = 15 * time.Second // for a running engine to answer
	// serverWait is how long a worker waits for its server and the schema. In Kubernetes the startup probe is
	// faster.
	serverWait = 5 * time.Minute
	// workerRedisTimeout bounds one Redis command of a worker, for which no request waits.
	workerRedisTimeout = 5 * time.Second
)

// cleanups close what a command opened, in reverse order, because later parts use earlier ones.
type cleanups []func() error

func (c *cleanups) add(undo func() error) { *c = append(*c, undo) }

// run calls every function once, the last added first, also after errors, which it joins. It is called once.
func (c *cleanups) run() (err error) {
	for _, undo := range slices.Backward(*c) {
		err = errors.Join(err, undo())
	}
	return err
}

// reach returns an engine for the data folder, which the session stops if it was started.
type reach func(ctx context.Context, s *session) (engine.Instance, error)

// startEngine runs the embedded ClickHouse on a data folder that no other process holds, until the cleanup.
func startEngine(ctx context.Context, s *session) (engine.Instance, error) {
	cfg := s.cfg
	program, err := engine.Locate(engine.LocateOptions{Library: cfg.Warehouse.EngineLib})
	if err != nil {
		return engine.Instance{}, err
	}
	running, err := engine.Start(ctx, engine.Options{
		DataDir: cfg.Warehouse.Data, Program: program, Logger: s.logger, AnalystGrants: warehouse.AnalystGrants(),
		AnalystListen: cfg.SQL.Listen, AnalystPassword: string(cfg.SQL.Password),
		AnalystLimits: engine.AnalystLimits{
			Time: cfg.SQL.Timeout, Memory: int64(cfg.SQL.MaxMemory), Rows: cfg.SQL.MaxRows,
		},
	})
	if cfg.SQL.Listen != "" && errors.Is(err, syscall.EADDRINUSE) {
		err = fmt.Errorf("PNYX_SQL_LISTEN: %w", err)
	}
	if err != nil {
		return engine.Instance{}, err
	}
	s.undo.add(func() error {
		if s.lends {
			running.AwaitUsers(ctx)
		}
		ctx, cancel := context.WithTimeout(context.Background(), stopTimeout)
		defer cancel()
		return running.Stop(ctx)
	})
	// The folder is locked: an address that is there was left by a process that crashed.
	if err := os.Remove(embeddedRedisPath(cfg)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return engine.Instance{}, err
	}
	return running.Instance(), nil
}

// reachEngine returns the engine that runs on the data folder, or starts one until the cleanup.
func reachEngine(ctx context.Context, s *session) (engine.Instance, error) {
	return s.awaitEngine(ctx, startEngine)
}

// reachExisting is reachEngine for commands that must not create a warehouse: with a wrong
// PNYX_DATA or working directory they would work on an empty one.
func reachExisting(ctx context.Context, s *session) (engine.Instance, error) {
	return s.awaitEngine(ctx, startExisting)
}

// startExisting is startEngine for a data folder that contains a warehouse.
func startExisting(ctx context.Context, s *session) (engine.Instance, error) {
	if dir := s.cfg.Warehouse.Data; !engine.HasDatabase(dir, warehouse.DefaultDatabase) {
		if absolute, err := filepath.Abs(dir); err == nil {
			dir = absolute
		}
		return engine.Instance{}, fmt.Errorf("no warehouse in %s (PNYX_DATA=%s): set PNYX_DATA to the folder of one, "+
			"or create one with pnyx serve, import or migrate", dir, s.cfg.Warehouse.Data)
	}
	return startEngine(ctx, s)
}

// awaitEngine returns the engine that runs on the data folder, or the one that start returns if none does. While
// another process starts or stops an engine, it waits for reachTimeout at most.
func (s *session) awaitEngine(ctx context.Context, start reach) (engine.Instance, error) {
	quiet := *s
	quiet.cfg.SQL.Listen = "" // analysts connect to a process that stays
	quiet.lends = true
	began, nextLog := time.Now(), time.Duration(0)
	for {
		instance, use, err := engine.Use(s.cfg.Warehouse.Data)
		if err == nil {
			s.undo.add(use.Close)
		} else if errors.Is(err, engine.ErrNotRunning) {
			instance, err = start(ctx, &quiet)
		}
		waited := time.Since(began)
		switch {
		case !errors.Is(err, engine.ErrInUse):
			return instance, err
		case waited >= reachTimeout:
			return instance, fmt.Errorf("%w, and its engine does not answer after %s: stop the process or use another folder",
				err, reachTimeout)
		case waited >= nextLog:
			nextLog = waited + reachLogInterval
			s.logger.LogAttrs(ctx, slog.LevelWarn, "another process starts or stops its engine, waiting for it",
				slog.Duration("waited", waited.Round(time.Second)), slog.Duration("limit", reachTimeout), slog.Any("error", err))
		}
		if backoff.Wait(ctx, reachInterval); ctx.Err() != nil {
			return instance, ctx.Err()
		}
	}
}

// openWarehouse opens the configured server, or the engine that reached returns, and may migrate the schema.
func (s *session) openWarehouse(ctx context.Context, reached reach) (*warehouse.Warehouse, error) {
	options, err := s.reachWarehouse(ctx, reached)
	if err != nil {
		return nil, err
	}
	return s.connect(ctx, options)
}

func (s *session) reachWarehouse(ctx context.Context, reached reach) (warehouse.Options, error) {
	options := s.warehouseOptions()
	if options.URL != "" {
		return options, nil
	}
	instance, err := reached(ctx, s)
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS) || errors.Is(err, syscall.ENOTDIR) {
		err = fmt.Errorf("PNYX_DATA=%s: %w: want a folder that this user may write to", s.cfg.Warehouse.Data, err)
	}
	if err != nil {
		return warehouse.Options{}, err
	}
	options.URL = instance.URL(warehouse.DefaultDatabase)
	// Another process may be restarting the engine.
	options.Wait = engineWait
	return options, nil
}

// awaitWarehouse opens the server once it answers and has the schema: workers and servers start in any order.
func (s *session) awaitWarehouse(ctx context.Context) (*warehouse.Warehouse, error) {
	options := s.warehouseOptions()
	options.Wait = serverWait
	return s.connect(ctx, options)
}

func (s *session) connect(ctx context.Context, options warehouse.Options) (*warehouse.Warehouse, error) {
	opened, err := warehouse.Open(ctx, options)
	if err != nil {
		return nil, err
	}
	s.undo.add(opened.Close)
	return opened, nil
}

// warehouseOptions returns the options of a connection. URL is empty where the embedded engine is used.
func (s *session) warehouseOptions() warehouse.Options {
	cfg := s.cfg.Warehouse
	return warehouse.Options{
		URL:          string(cfg.URL),
		Cluster:      cfg.Cluster,
		QueryTimeout: cfg.QueryTimeout,
		MaxMemory:    uint64(cfg.QueryMaxMemory), //nolint:gosec // validated to be positive
		MaxRows:      cfg.QueryMaxRows,
		Logger:       s.logger,
	}
}

// startRedis returns the configured Redis, or starts an embedded one until the cleanup.
func (s *session) startRedis(ctx context.Context) (string, error) {
	cfg := s.cfg
	if cfg.Cache.URL != "" {
		return string(cfg.Cache.URL), nil
	}
	options := embedded.Options{Logger: s.logger}
	if cfg.Warehouse.URL == "" { // otherwise nothing locks the data folder
		options.DataDir = cfg.Warehouse.Data
	}
	running, err := embedded.Start(ctx, options)
	if err != nil {
		return "", err
	}
	s.undo.add(running.Close)
	if cfg.Warehouse.URL != "" {
		return running.URL, nil
	}
	path := embeddedRedisPath(cfg)
	s.undo.add(func() error { return os.Remove(path) })
	return running.URL, os.WriteFile(path, []byte(running.URL), 0o600)
}

// embeddedRedisPath is the file with the address of a running instance's embedded Redis, and its password.
func embeddedRedisPath(cfg config.Config) string {
	return filepath.Join(cfg.Warehouse.Data, "redis.url")
}

// findRedis returns the configured Redis, or the one of the instance on the data folder; empty for none.
func findRedis(cfg config.Config) (string, error) {
	if cfg.Cache.URL != "" || cfg.Warehouse.URL != "" {
		return string(cfg.Cache.URL), nil
	}
	address, err := os.ReadFile(embeddedRedisPath(cfg))
	if errors.Is(err, os.ErrNotExist) {
		return "", nil
	}
	return string(address), err
}

// openCache connects to a Redis until the cleanup. A server that does not answer is no error here.
func (s *session) openCache(url string, timeout time.Duration) (*cache.Store, error) {
	store, err := cache.Open(url, timeout)
	if err != nil {
		return nil, fmt.Errorf("REDIS_URL: %w", err)
	}
	s.undo.add(store.Close)
	return store, nil
}

// openStore connects to a Redis until the node stops, and watches its configuration. It refuses one that may evict
// data that must stay, and accepts one that does not answer yet.
func (n *node) openStore(ctx context.Context, url string, timeout time.Duration) (*cache.Store, error) {
	store, err := n.openCache(url, timeout)
	if err != nil {
		return nil, err
	}
	if err := store.CheckServers(ctx); errors.Is(err, cache.ErrServerConfig) {
		return nil, fmt.Errorf("REDIS_URL: %w", err)
	}
	n.background(func(ctx context.Context) { n.watchServers(ctx, store) })
	return store, nil
}

// watchServers logs once for each problem when the configuration of Redis becomes unsafe.
func (n *node) watchServers(ctx context.Context, store *cache.Store) {
	logged := ""
	for backoff.Wait(ctx, time.Minute); ctx.Err() == nil; backoff.Wait(ctx, time.Minute) {
		err := store.CheckServers(ctx)
		if errors.Is(err, cache.ErrServerConfig) && err.Error() != logged {
			logged = err.Error()
			n.logger.LogAttrs(ctx, slog.LevelError, "redis configuration may lose data", slog.Any("error", err))
		}
	}
}

// notifyCommits tells the leader of every batch of this process; else the leader finds it at its next check.
func notifyCommits(opened *warehouse.Warehouse, store *cache.Store, logger *slog.Logger) {
	opened.OnCommit(func(ctx context.Context) {
		if err := store.NotifyCommitted(ctx); err != nil && ctx.Err() == nil {
			logger.LogAttrs(ctx, slog.LevelDebug, "leader not notified of a batch, it checks for it", slog.Any("error", err))
		}
	})
}
