package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
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
	)
	return registry
}

// startAdmin serves /healthz (the process lives), /readyz (it can do its work) and
// /metrics.
func (n *node) startAdmin(ready func(context.Context) error) {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintln(w, "ok")
	})
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) {
		if err := ready(r.Context()); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, "ready")
	})
	mux.Handle("GET /metrics", promhttp.HandlerFor(n.registry, promhttp.HandlerOpts{}))

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
