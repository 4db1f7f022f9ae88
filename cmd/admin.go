package cmd

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/pprof"
	"net/netip"
	"strings"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"pnyx/backoff"
)

// newRegistry returns the registry of one node: tests run several in one process.
func newRegistry() *prometheus.Registry {
	registry := prometheus.NewRegistry()
	registry.MustRegister(
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		buildMetric(),
	)
	return registry
}

// probes holds the state behind the health probes. It is safe for concurrent use.
type probes struct {
	// ready is the readiness check of the node's role; nil until all parts run.
	ready    atomic.Pointer[func(context.Context) error]
	draining atomic.Bool
}

var (
	errStarting = errors.New("starting") // before all parts run
	errDraining = errors.New("draining") // after SIGTERM or SIGINT
)

// started records that all parts run, and the check that Ready makes from now on.
func (p *probes) started(ready func(context.Context) error) { p.ready.Store(&ready) }

// Started fails until all parts run. Kubernetes makes no other probe before it succeeds.
func (p *probes) Started(context.Context) error {
	if p.ready.Load() == nil {
		return errStarting
	}
	return nil
}

// Ready fails while the node should get no requests.
func (p *probes) Ready(ctx context.Context) error {
	if p.draining.Load() {
		return errDraining
	}
	if err := p.Started(ctx); err != nil {
		return err
	}
	return (*p.ready.Load())(ctx)
}

// stickyReady keeps a node ready once it was ready. Losing Redis affects all nodes at once; nodes with local
// copies, or errors that explain the cause, are worth more to callers than no nodes.
func stickyReady(ready func(context.Context) error) func(context.Context) error {
	var wasReady atomic.Bool
	return func(ctx context.Context) error {
		if wasReady.Load() {
			return nil
		}
		err := ready(ctx)
		wasReady.Store(err == nil)
		return err
	}
}

// logUntilReady logs what a node waits for until it is ready: after a second, then twice a minute.
func logUntilReady(ctx context.Context, logger *slog.Logger, ready func(context.Context) error) {
	const checkInterval, logInterval = time.Second, 30 * time.Second
	began, logged := time.Now(), time.Time{}
	for backoff.Wait(ctx, checkInterval); ctx.Err() == nil; backoff.Wait(ctx, checkInterval) {
		err := ready(ctx)
		waited := slog.Duration("waited", time.Since(began))
		switch {
		case err == nil && !logged.IsZero():
			logger.LogAttrs(ctx, slog.LevelInfo, "ready", waited)
			return
		case err == nil || ctx.Err() != nil:
			return
		case time.Since(logged) >= logInterval:
			logged = time.Now()
			logger.LogAttrs(ctx, slog.LevelWarn, "not ready, waiting", waited, slog.Any("error", err))
		}
	}
}

// probeHandler responds with 200, or with 503 and the reason, which contains no secrets.
func probeHandler(probe func(context.Context) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if err := probe(r.Context()); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, "ok")
	}
}

// startAdmin serves what the process is, its probes, metrics and Go's profiles. It stops last, so that a
// shutdown can be observed. The listener has no authentication, so its address must stay private.
func (n *node) startAdmin() {
	const adminTimeout = 5 * time.Second // bounds a request; its double bounds a response, as of a CPU profile
	mux := http.NewServeMux()
	identity := n.identity()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintln(w, identity+"\n\n/healthz /startedz /readyz /metrics /debug/pprof/")
	})
	mux.HandleFunc("GET /healthz", probeHandler(func(context.Context) error { return nil }))
	mux.HandleFunc("GET /startedz", probeHandler(n.probes.Started))
	mux.HandleFunc("GET /readyz", probeHandler(n.probes.Ready))
	mux.Handle("GET /metrics", promhttp.HandlerFor(n.registry, promhttp.HandlerOpts{}))
	mux.HandleFunc("GET /debug/pprof/", pprof.Index)
	mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)

	server := &http.Server{Handler: onlyPrivateHosts(n.cfg.API.AdminListen, mux), ReadTimeout: adminTimeout, WriteTimeout: 2 * adminTimeout}
	go func() {
		if err := server.Serve(n.admin); !errors.Is(err, http.ErrServerClosed) {
			n.failed <- err
		}
	}()
	n.undo.add(server.Close) // whoever takes a profile would delay the end
}

// onlyPrivateHosts refuses requests whose Host is a name that another party may own: the party could let it
// resolve to the listener, and a page in a browser could read the answers. The host in listen is accepted.
func onlyPrivateHosts(listen string, next http.Handler) http.Handler {
	own, _, _ := net.SplitHostPort(listen) // empty where every address is meant
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !isPrivateHost(r.Host, own) {
			http.Error(w, "this name is not answered: use an IP address, localhost, a name without dots, or the host of PNYX_ADMIN_LISTEN",
				http.StatusMisdirectedRequest)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// isPrivateHost reports whether no public name resolves for a Host header: an IP address, a name without dots or
// below localhost, the host own, or none.
func isPrivateHost(host, own string) bool {
	name, _, err := net.SplitHostPort(host)
	if err != nil {
		name = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	}
	if _, err := netip.ParseAddr(name); err == nil {
		return true
	}
	name = strings.ToLower(name)
	return !strings.Contains(name, ".") || strings.HasSuffix(name, ".localhost") || name == strings.ToLower(own)
}
