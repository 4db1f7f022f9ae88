package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/cobra"

	"pnyx/access"
	"pnyx/api"
	"pnyx/api/doc"
	"pnyx/cache"
	"pnyx/config"
	"pnyx/ratelimit"
	"pnyx/telemetry"
	"pnyx/warehouse"
	"pnyx/worker"
)

func serveCommand() *cobra.Command {
	var demo bool
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run everything in one process: warehouse, worker and API",
		Args:  cobra.NoArgs,
		RunE: service(func(cmd *cobra.Command, _ []string, cfg config.Config, logger *slog.Logger) error {
			n := newNode(cfg, logger)
			err := n.serve(cmd.Context(), cmd.OutOrStdout(), demo)
			return errors.Join(err, n.stop())
		}),
	}
	cmd.Flags().BoolVar(&demo, "demo", false, "load a small invented data set into an empty warehouse")
	return cmd
}

func apiCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "api",
		Short: "Run an API node alone, on a Redis that workers fill",
		Args:  cobra.NoArgs,
		RunE: service(func(cmd *cobra.Command, _ []string, cfg config.Config, logger *slog.Logger) error {
			if cfg.Cache.URL == "" {
				return errors.New("REDIS_URL: an API node alone needs the Redis that workers fill")
			}
			n := newNode(cfg, logger)
			err := n.serveAPI(cmd.Context(), cmd.OutOrStdout())
			return errors.Join(err, n.stop())
		}),
	}
}

func workerCommand() *cobra.Command {
	var fillsOnly bool
	cmd := &cobra.Command{
		Use:   "worker",
		Short: "Run a worker alone, from a ClickHouse server to a Redis",
		Long: `Run a worker alone, from a ClickHouse server to a Redis. Any number may run. One of
them publishes, and the others stand by; all make pages on demand. With --fills-only a
worker does nothing else: such workers may come and go with the load.`,
		Args: cobra.NoArgs,
		RunE: service(func(cmd *cobra.Command, _ []string, cfg config.Config, logger *slog.Logger) error {
			if cfg.Warehouse.URL == "" {
				return errors.New("CLICKHOUSE_URL: a worker alone needs a ClickHouse server")
			}
			if cfg.Cache.URL == "" {
				return errors.New("REDIS_URL: a worker alone needs the Redis that API nodes read")
			}
			n := newNode(cfg, logger)
			start := n.startWorker
			if fillsOnly {
				start = n.startFiller
			}
			err := n.serveWorker(cmd.Context(), cmd.OutOrStdout(), start)
			return errors.Join(err, n.stop())
		}),
	}
	cmd.Flags().BoolVar(&fillsOnly, "fills-only", false, "make pages on demand, and neither publish nor keep books")
	return cmd
}

// node is what runs in one process. Its parts end in the reverse order of their
// start.
type node struct {
	cfg      config.Config
	logger   *slog.Logger
	registry *prometheus.Registry
	tracer   *telemetry.Tracer
	undo     cleanups
	probes   probes
	// listener and admin are taken first: an address that is in use should not be
	// found out after half a minute of preparations.
	listener, admin net.Listener
	// failed receives the error of a part that ended by itself.
	failed chan error
}

func newNode(cfg config.Config, logger *slog.Logger) *node {
	return &node{cfg: cfg, logger: logger, registry: newRegistry(), failed: make(chan error, 4)}
}

// stop ends every part.
func (n *node) stop() error {
	return n.undo.run()
}

// listen takes an address until the clean-up.
func (n *node) listen(setting, address string) (net.Listener, error) {
	listener, err := net.Listen("tcp", address) //nolint:noctx // it ends with the process
	if err != nil {
		return nil, fmt.Errorf("%s: %w", setting, err)
	}
	n.undo.add(func() error {
		if err := listener.Close(); !errors.Is(err, net.ErrClosed) {
			return err
		}
		return nil
	})
	return listener, nil
}

func (n *node) listenForAPI() (err error) {
	n.listener, err = n.listen("PNYX_LISTEN", n.cfg.API.Listen)
	return err
}

func (n *node) listenForAdmin() (err error) {
	n.admin, err = n.listen("PNYX_ADMIN_LISTEN", n.cfg.API.AdminListen)
	return err
}

func (n *node) serve(ctx context.Context, out io.Writer, demo bool) error {
	if err := errors.Join(n.listenForAPI(), n.listenForAdmin()); err != nil {
		return err
	}
	n.startAdmin()
	if err := n.startTracing(ctx, "serve"); err != nil {
		return err
	}
	opened, err := openWarehouse(ctx, n.cfg, n.logger, &n.undo, startEngine)
	if err != nil {
		return err
	}
	var tokens []demoToken
	if demo {
		if err := loadDemo(ctx, opened, n.cfg, out); err != nil {
			return fmt.Errorf("load the demonstration data: %w", err)
		}
		if tokens, err = makeDemoTokens(ctx, office{opened, n.cfg, n.logger}); err != nil {
			return fmt.Errorf("make the demonstration's tokens: %w", err)
		}
	}
	url, err := redisURL(n.cfg, &n.undo)
	if err != nil {
		return err
	}
	if err := n.startWorker(opened, url); err != nil {
		return err
	}
	store, err := openCache(url, n.cfg.Cache.Timeout, &n.undo)
	if err != nil {
		return err
	}
	served, err := n.startAPI(store, url)
	if err != nil {
		return err
	}
	n.probes.started(lasting(served.Ready))
	n.announce(ctx, out, served, store, tokens)
	return n.drain(served, n.wait(ctx))
}

func (n *node) serveAPI(ctx context.Context, out io.Writer) error {
	if err := errors.Join(n.listenForAPI(), n.listenForAdmin()); err != nil {
		return err
	}
	n.startAdmin()
	if err := n.startTracing(ctx, "api"); err != nil {
		return err
	}
	store, err := n.openStore(ctx, string(n.cfg.Cache.URL), n.cfg.Cache.Timeout)
	if err != nil {
		return err
	}
	served, err := n.startAPI(store, string(n.cfg.Cache.URL))
	if err != nil {
		return err
	}
	n.probes.started(lasting(served.Ready))
	fmt.Fprintf(out, "API on http://%s, health and metrics on http://%s\n", n.cfg.API.Listen, n.cfg.API.AdminListen)
	return n.drain(served, n.wait(ctx))
}

func (n *node) serveWorker(
	ctx context.Context, out io.Writer, start func(*warehouse.Warehouse, string) error,
) error {
	if err := n.listenForAdmin(); err != nil {
		return err
	}
	n.startAdmin()
	if err := n.startTracing(ctx, "worker"); err != nil {
		return err
	}
	opened, err := awaitWarehouse(ctx, n.cfg, n.logger, &n.undo)
	if err != nil {
		return err
	}
	if err := start(opened, string(n.cfg.Cache.URL)); err != nil {
		return err
	}
	n.probes.started(opened.Ping)
	fmt.Fprintf(out, "worker running, health and metrics on http://%s\n", n.cfg.API.AdminListen)
	return n.wait(ctx)
}

// wait returns when the process is told to end, or a part has ended by itself.
func (n *node) wait(ctx context.Context) error {
	select {
	case <-ctx.Done():
		n.probes.drain()
		n.logger.LogAttrs(ctx, slog.LevelInfo, "shutting down")
		return nil
	case err := <-n.failed:
		return err
	}
}

// drain goes on answering for a while after the node has said that it wants no
// more: whoever sends requests here needs a moment to notice. A node that failed has
// nothing to answer with.
func (n *node) drain(served *api.API, failed error) error {
	if failed != nil {
		return failed
	}
	served.Drain()
	timer := time.NewTimer(n.cfg.API.DrainDelay)
	defer timer.Stop()
	select {
	case err := <-n.failed:
		return err
	case <-timer.C:
		return nil
	}
}

// startFiller makes pages on demand, and does nothing else.
func (n *node) startFiller(opened *warehouse.Warehouse, url string) error {
	return n.startWorkerParts(opened, url, worker.Options{FillsOnly: true})
}

// startWorker publishes, keeps the accounts and makes pages on demand.
func (n *node) startWorker(opened *warehouse.Warehouse, url string) error {
	purger, err := n.openPurger()
	if err != nil {
		return err
	}
	return n.startWorkerParts(opened, url, worker.Options{
		PublishInterval: n.cfg.Worker.PublishInterval,
		LeaseTTL:        n.cfg.Worker.LeaseTTL,
		Purge:           purger,
	})
}

// startWorkerParts starts a worker with what all of its parts need besides o.
func (n *node) startWorkerParts(opened *warehouse.Warehouse, url string, o worker.Options) error {
	store, err := n.openStore(context.Background(), url, workerPatience)
	if err != nil {
		return err
	}
	store.Instrument(n.measured("worker"))
	opened.Instrument(n.registry, n.tracer)
	o.Warehouse, o.Store, o.FillTimeout = opened, store, n.cfg.API.RequestTimeout
	o.Logger, o.Metrics, o.Tracer = n.logger, n.registry, n.tracer
	n.background(worker.New(o).Run)
	return nil
}

// background runs a part until the clean-up, which waits for it.
func (n *node) background(run func(context.Context)) {
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { run(ctx) })
	n.undo.add(func() error {
		cancel()
		running.Wait()
		return nil
	})
}

func (n *node) startAPI(store *cache.Store, redisURL string) (*api.API, error) {
	settings := n.cfg.Access
	store.Instrument(n.measured("api"))
	pipeline, err := openPipeline(redisURL, settings.LimitTimeout, &n.undo)
	if err != nil {
		return nil, err
	}
	pipeline.Instrument(n.measured("limits"))
	charged, err := charged(n.cfg.Payment)
	if err != nil {
		return nil, err
	}
	gate, err := openGate(n.cfg, store, n.logger, n.registry)
	if err != nil {
		return nil, err
	}
	served := api.New(api.Options{
		Store:          store,
		RequestTimeout: n.cfg.API.RequestTimeout,
		StaleAfter:     n.cfg.Worker.StaleAfter,
		LocalBytes:     uint64(n.cfg.Cache.Local), //nolint:gosec // validated to be positive
		Tokens:         access.NewTokenCache(store, settings.V2Launch.Time()),
		Internal:       access.NewInternalTokens(settings.Internal.All()),
		Limiter: ratelimit.New(ratelimit.Options{
			Pipeline:   pipeline,
			PerProcess: settings.LimitScope == "process",
			Logger:     n.logger,
			Metrics:    n.registry,
		}),
		Addresses:    ratelimit.NewIPLimiter(settings.FreeRate, settings.TrustedProxies.Prefixes(), n.registry),
		Meter:        access.NewMeter(store, n.logger),
		Payments:     gate,
		Prices:       charged,
		Documents:    doc.Documents(charged),
		PurgeEnabled: n.cfg.Purge.Kind != "",
		Logger:       n.logger,
		Log:          api.LogOptions{SampleRate: n.cfg.Log.Sample, SlowThreshold: n.cfg.Log.Slow},
		Tracer:       n.tracer,
		Metrics:      n.registry,
	})
	n.background(served.Watch)
	go func() {
		n.awaitReady(served)
		if err := served.Serve(n.listener); err != nil {
			n.failed <- err
		}
	}()
	n.undo.add(func() error {
		ctx, cancel := context.WithTimeout(context.Background(), n.cfg.API.ShutdownTimeout)
		defer cancel()
		return served.Shutdown(ctx)
	})
	return served, nil
}

// awaitReady keeps the first callers waiting for the moment that a node takes to learn
// what is published: whoever balances load without asking /readyz would get refusals
// from each node that starts. When there is nothing to learn, the refusal is true.
func (n *node) awaitReady(served *api.API) {
	ctx, cancel := context.WithTimeout(context.Background(), n.cfg.API.RequestTimeout/2)
	defer cancel()
	again := time.NewTicker(10 * time.Millisecond)
	defer again.Stop()
	for served.Ready(ctx) != nil {
		select {
		case <-ctx.Done():
			return
		case <-again.C:
		}
	}
}
