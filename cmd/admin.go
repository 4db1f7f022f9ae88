package cmd

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/pprof"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// adminTimeout bounds every exchange with the admin listener.
const adminTimeout = 5 * time.Second

func newRegistry() *prometheus.Registry {
	registry := prometheus.NewRegistry()
	registry.MustRegister(
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		buildMetric(),
	)
	return registry
}

// probes is what a node says of itself to those who run it: three questions that
// mean different things, and have different answers while it starts and ends.
type probes struct {
	ready    atomic.Pointer[func(context.Context) error]
	draining atomic.Bool
}

// Reasons why a node should get no work.
var (
	errStarting = errors.New("starting")
	errDraining = errors.New("draining")
)

// started says that everything runs, and how to find out whether it is ready.
func (p *probes) started(ready func(context.Context) error) {
	p.ready.Store(&ready)
}

// drain says that the node is about to end.
func (p *probes) drain() {
	p.draining.Store(true)
}

// Started fails until everything runs.
func (p *probes) Started(context.Context) error {
	if p.ready.Load() == nil {
		return errStarting
	}
	return nil
}

// Ready fails while the node should get no work.
func (p *probes) Ready(ctx context.Context) error {
	ready := p.ready.Load()
	switch {
	case p.draining.Load():
		return errDraining
	case ready == nil:
		return errStarting
	}
	return (*ready)(ctx)
}

// lasting keeps a node that was ready once ready: Redis is away for all nodes at
// once, and callers get more from nodes that go by their copies, or say what is
// wrong, than from none.
func lasting(ready func(context.Context) error) func(context.Context) error {
	var was atomic.Bool
	return func(ctx context.Context) error {
		if was.Load() {
			return nil
		}
		err := ready(ctx)
		was.Store(err == nil)
		return err
	}
}

// answer is the handler of a probe: 200, or 503 with the reason.
func answer(probe func(context.Context) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if err := probe(r.Context()); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, "ok")
	}
}

// startAdmin serves /healthz (the process lives), /startedz (everything runs),
// /readyz (it should get work), /metrics, and Go's profiles below /debug/pprof/. It
// ends last, so that the end can be watched too.
func (n *node) startAdmin() {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", answer(func(context.Context) error { return nil }))
	mux.HandleFunc("GET /startedz", answer(n.probes.Started))
	mux.HandleFunc("GET /readyz", answer(n.probes.Ready))
	mux.Handle("GET /metrics", promhttp.HandlerFor(n.registry, promhttp.HandlerOpts{}))
	mux.HandleFunc("GET /debug/pprof/", pprof.Index)
	mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)

	server := &http.Server{Handler: mux, ReadTimeout: adminTimeout, WriteTimeout: 2 * adminTimeout}
	go func() {
		if err := server.Serve(n.admin); !errors.Is(err, http.ErrServerClosed) {
			n.failed <- err
		}
	}()
	n.undo.add(func() error {
		ctx, cancel := context.WithTimeout(context.Background(), adminTimeout)
		defer cancel()
		return server.Shutdown(ctx)
	})
}
