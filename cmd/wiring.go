package cmd

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"pnyx/cache"
	"pnyx/config"
	"pnyx/telemetry"
	"pnyx/warehouse"
	"pnyx/warehouse/engine"
)

// stopTimeout bounds how long one part may take to end.
const stopTimeout = 10 * time.Second

// engineWait is how long an engine that is there may take to answer.
const engineWait = 15 * time.Second

// serverWait is how long a worker waits for its server, and for the schema. In Kubernetes
// the startup probe ends it earlier.
const serverWait = 5 * time.Minute

// cleanups are undone in the reverse order of their making.
type cleanups []func() error

func (c *cleanups) add(undo func() error) {
	*c = append(*c, undo)
}

// run undoes everything and reports what went wrong.
func (c *cleanups) run() error {
	var problems []error
	for len(*c) > 0 {
		last := len(*c) - 1
		undo := (*c)[last]
		*c = (*c)[:last]
		problems = append(problems, undo())
	}
	return errors.Join(problems...)
}

// startEngine runs the embedded ClickHouse until the clean-up.
func startEngine(
	ctx context.Context, cfg config.Config, logger *slog.Logger, undo *cleanups,
) (engine.Instance, error) {
	program, err := engine.Locate(ctx, engine.LocateOptions{Library: cfg.Warehouse.EngineLib})
	if err != nil {
		return engine.Instance{}, err
	}
	running, err := engine.Start(ctx, engine.Options{DataDir: cfg.Warehouse.Data, Program: program, Logger: logger})
	if err != nil {
		return engine.Instance{}, err
	}
	undo.add(func() error {
		ctx, cancel := context.WithTimeout(context.Background(), stopTimeout)
		defer cancel()
		return running.Stop(ctx)
	})
	return running.Instance(), nil
}

// reachEngine returns the engine that runs in the data folder, or else starts one
// for as long as the command takes.
func reachEngine(
	ctx context.Context, cfg config.Config, logger *slog.Logger, undo *cleanups,
) (engine.Instance, error) {
	instance, err := engine.Find(cfg.Warehouse.Data)
	if errors.Is(err, engine.ErrNotRunning) {
		return startEngine(ctx, cfg, logger, undo)
	}
	return instance, err
}

// openWarehouse opens the configured server, or the engine that reach returns.
func openWarehouse(
	ctx context.Context, cfg config.Config, logger *slog.Logger, undo *cleanups,
	reach func(context.Context, config.Config, *slog.Logger, *cleanups) (engine.Instance, error),
) (*warehouse.Warehouse, error) {
	options := warehouseOptions(cfg, logger)
	if options.URL == "" {
		instance, err := reach(ctx, cfg, logger, undo)
		if err != nil {
			return nil, err
		}
		options.URL = instance.URL(warehouse.DefaultDatabase)
		// It may be just being started again.
		options.Wait = engineWait
	}
	return open(ctx, options, undo)
}

// awaitWarehouse opens the configured server, once it answers and has the schema.
func awaitWarehouse(
	ctx context.Context, cfg config.Config, logger *slog.Logger, undo *cleanups,
) (*warehouse.Warehouse, error) {
	options := warehouseOptions(cfg, logger)
	options.Wait = serverWait
	return open(ctx, options, undo)
}

func open(ctx context.Context, options warehouse.Options, undo *cleanups) (*warehouse.Warehouse, error) {
	opened, err := warehouse.Open(ctx, options)
	if err != nil {
		return nil, err
	}
	undo.add(opened.Close)
	return opened, nil
}

func warehouseOptions(cfg config.Config, logger *slog.Logger) warehouse.Options {
	return warehouse.Options{
		URL:          string(cfg.Warehouse.URL),
		Cluster:      cfg.Warehouse.Cluster,
		QueryTimeout: cfg.Warehouse.QueryTimeout,
		MaxMemory:    uint64(cfg.Warehouse.QueryMaxMemory), //nolint:gosec // validated to be positive
		MaxRows:      cfg.Warehouse.QueryMaxRows,
		Logger:       logger,
	}
}

// redisURL is the configured Redis, or one that is run inside the process.
func redisURL(cfg config.Config, undo *cleanups) (string, error) {
	if cfg.Cache.URL != "" {
		return string(cfg.Cache.URL), nil
	}
	ctx, stop := context.WithCancel(context.Background())
	undo.add(func() error { stop(); return nil })
	return cache.StartEmbedded(ctx)
}

// workerPatience is how long a worker waits for Redis: nobody waits for the worker.
const workerPatience = 5 * time.Second

// openCache connects to a Redis.
func openCache(url string, timeout time.Duration, undo *cleanups) (*cache.Store, error) {
	store, err := cache.Open(url, timeout)
	if err != nil {
		return nil, fmt.Errorf("REDIS_URL: %w", err)
	}
	undo.add(store.Close)
	return store, nil
}

// startTracing has what is done sent to the collector that is configured, until the
// clean-up. Without one the tracer stays nil, and costs nothing.
func (n *node) startTracing(ctx context.Context, role string) error {
	if n.cfg.Trace.Endpoint == "" {
		return nil
	}
	tracer, err := telemetry.NewTracer(ctx, telemetry.ExportOptions{
		Endpoint: string(n.cfg.Trace.Endpoint), Headers: n.cfg.Trace.Headers.Map(), Ratio: n.cfg.Trace.Ratio.Share(),
		Service: n.cfg.Trace.Service, Role: role, Logger: n.logger,
	})
	if err != nil {
		return err
	}
	n.tracer = tracer
	n.undo.add(func() error {
		ctx, cancel := context.WithTimeout(context.Background(), stopTimeout)
		defer cancel()
		if err := tracer.Shutdown(ctx); err != nil {
			n.logger.LogAttrs(ctx, slog.LevelWarn, "the last traces are lost", slog.Any("error", err))
		}
		return nil
	})
	return nil
}

// measured says what a client of Redis is measured by.
func (n *node) measured(client string) cache.Instruments {
	return cache.Instruments{Client: client, Metrics: n.registry, Tracer: n.tracer}
}

// openPipeline connects the limiter to a Redis.
func openPipeline(url string, timeout time.Duration, undo *cleanups) (*cache.Pipeline, error) {
	pipeline, err := cache.OpenPipeline(url, timeout)
	if err != nil {
		return nil, fmt.Errorf("REDIS_URL: %w", err)
	}
	undo.add(pipeline.Close)
	return pipeline, nil
}
