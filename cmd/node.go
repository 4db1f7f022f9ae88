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

	"pnyx/api"
	"pnyx/cache"
	"pnyx/cache/accounts"
	"pnyx/telemetry"
	"pnyx/worker/account"
)

// node is one long-running process. Its parts stop in the reverse order of their start.
type node struct {
	*session
	registry *prometheus.Registry
	// tracer is nil unless a trace collector is configured. All parts accept nil.
	tracer *telemetry.Tracer
	probes probes
	// listener and admin are opened first, so that an address in use fails at once.
	listener, admin net.Listener
	// failed receives the error of a part that stopped by itself, and has room for all of them.
	failed chan error
}

func newNode(s *session) *node {
	return &node{session: s, registry: newRegistry(), failed: make(chan error, 4)}
}

// serve runs all roles in one process. It returns when ctx ends or a part fails. With demo it loads invented data
// into an empty warehouse before the worker starts, so that the first publication contains it.
func (n *node) serve(ctx context.Context, out io.Writer, demo bool) error {
	if err := n.begin(ctx, "serve", n.checkSourcesFile(), n.listenForAPI()); err != nil {
		return err
	}
	opened, err := n.openWarehouse(ctx, startEngine)
	if err != nil {
		return err
	}
	var tokens []demoToken
	if demo {
		if tokens, err = prepareDemo(ctx, tokenAdmin{opened, n.cfg, n.logger}, out); err != nil {
			return err
		}
	}
	url, err := n.startRedis(ctx)
	if err != nil {
		return err
	}
	store, err := n.openCache(url, n.cfg.Cache.Timeout)
	if err != nil {
		return err
	}
	// What Redis still holds of tokens may lack those that were issued or revoked since.
	if err := account.PublishTokens(ctx, opened, accounts.New(store)); err != nil {
		return err
	}
	if err := n.startWorker(opened, url, false); err != nil {
		return err
	}
	if err := n.startFollower(ctx, opened, url); err != nil {
		return err
	}
	served, err := n.startAPI(store, url)
	if err != nil {
		return err
	}
	n.probes.started(stickyReady(served.Ready))
	n.announce(ctx, out, served, store, tokens)
	return n.drain(served, n.wait(ctx))
}

func (n *node) serveAPI(ctx context.Context, out io.Writer) error {
	if err := n.begin(ctx, "api", n.listenForAPI()); err != nil {
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
	n.probes.started(stickyReady(served.Ready))
	logger := n.logger.With(slog.String("redis", n.cfg.Cache.URL.String()))
	n.background(func(ctx context.Context) { logUntilReady(ctx, logger, served.Ready) })
	fmt.Fprintf(out, "API on http://%s, health and metrics on http://%s\n", n.cfg.API.Listen, n.cfg.API.AdminListen)
	return n.drain(served, n.wait(ctx))
}

func (n *node) serveWorker(ctx context.Context, out io.Writer, fillsOnly bool) error {
	if err := n.begin(ctx, "worker"); err != nil {
		return err
	}
	opened, err := n.awaitWarehouse(ctx)
	if err != nil {
		return err
	}
	if err := n.startWorker(opened, string(n.cfg.Cache.URL), fillsOnly); err != nil {
		return err
	}
	// A worker that waits for the lease is ready too: readiness says that it could lead.
	n.probes.started(opened.Ping)
	fmt.Fprintf(out, "worker running, health and metrics on http://%s\n", n.cfg.API.AdminListen)
	return n.wait(ctx)
}

// begin serves probes from here on, so that they can observe the start, and exports spans. It does neither, and
// returns all errors, if a setting or an address is refused: those in refused, or the address of the probes.
func (n *node) begin(ctx context.Context, role string, refused ...error) error {
	if err := errors.Join(append(refused, n.listenForAdmin())...); err != nil {
		return err
	}
	n.startAdmin()
	return n.startTracing(ctx, role)
}

// wait returns nil when the process is told to end, and the node is not ready from then on, or the error of a
// part.
func (n *node) wait(ctx context.Context) error {
	select {
	case <-ctx.Done():
		n.probes.draining.Store(true) // load balancers stop sending requests while the API still serves them
		n.logger.LogAttrs(ctx, slog.LevelInfo, "shutting down")
		return nil
	case err := <-n.failed:
		return err
	}
}

// drain keeps the API serving for DrainDelay while it is not ready: load balancers take a moment to notice.
func (n *node) drain(served *api.API, failed error) error {
	if failed != nil {
		return failed
	}
	served.Drain()
	select {
	case err := <-n.failed:
		return err
	case <-time.After(n.cfg.API.DrainDelay):
		return nil
	}
}

// background runs a part until the node stops: the cleanup cancels its context and waits until it returns.
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

// startTracing exports spans to the configured collector, if there is one, until the node stops. Spans that
// cannot be exported at the end do not fail the shutdown.
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
			n.logger.LogAttrs(ctx, slog.LevelWarn, "exporting the last spans failed, they are dropped", slog.Any("error", err))
		}
		return nil
	})
	return nil
}

func (n *node) redisInstruments(client string) cache.Instruments {
	return cache.Instruments{Client: client, Metrics: n.registry, Tracer: n.tracer}
}
