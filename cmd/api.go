package cmd

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"pnyx/access"
	"pnyx/api"
	"pnyx/backoff"
	"pnyx/cache"
	"pnyx/cache/accounts"
	"pnyx/explore"
	"pnyx/mcp"
	"pnyx/ratelimit"
	"pnyx/reference"
)

// apiCommand needs REDIS_URL: an embedded Redis would stay empty without a worker in the process.
func apiCommand() *cobra.Command {
	// Collecting garbage more often takes a fifth off the peak memory, and nothing measurable off the rate.
	const apiGCPercent = 40
	return &cobra.Command{
		Use:   "api",
		Short: "Run an API node alone, on a Redis that workers fill",
		Args:  cobra.NoArgs,
		RunE: service(func(cmd *cobra.Command, _ []string, s *session) error {
			if s.cfg.Cache.URL == "" {
				return errors.New("REDIS_URL: an API node alone needs the Redis that workers fill")
			}
			debug.SetGCPercent(apiGCPercent)
			return newNode(s).serveAPI(cmd.Context(), cmd.OutOrStdout())
		}),
	}
}

// startAPI serves the API until the node stops, and returns before the first request. The limiter has a connection
// of its own to redisURL, whose short timeout does not apply to reads of pages.
func (n *node) startAPI(store *cache.Store, redisURL string) (*api.API, error) {
	settings := n.cfg.Access
	store.Instrument(n.redisInstruments("api"))
	pipeline, err := cache.OpenPipeline(redisURL, settings.LimitTimeout)
	if err != nil {
		return nil, fmt.Errorf("REDIS_URL: %w", err)
	}
	n.undo.add(pipeline.Close)
	pipeline.Instrument(n.redisInstruments("limits"))
	prices, err := apiPrices(n.cfg.Payment)
	if err != nil {
		return nil, err
	}
	gate, err := openGate(n.cfg, store, n.logger, n.registry)
	if err != nil {
		return nil, err
	}
	documents := slices.Concat(reference.Documents(reference.Node{Prices: prices, PublicURL: n.cfg.API.PublicURL}), explore.Documents())
	served := api.New(api.Options{
		Store:          store,
		RequestTimeout: n.cfg.API.RequestTimeout,
		StaleAfter:     n.cfg.Worker.StaleAfter,
		LocalBytes:     uint64(n.cfg.Cache.Local), //nolint:gosec // validated to be positive
		Tokens:         access.NewTokenCache(accounts.New(store), settings.V2Launch.Time()),
		Internal:       access.NewInternalTokens(settings.Internal.All()),
		Limiter: ratelimit.New(ratelimit.Options{
			Pipeline:   pipeline,
			PerProcess: settings.LimitScope == "process",
			Logger:     n.logger,
			Metrics:    n.registry,
		}),
		Addresses:    ratelimit.NewIPLimiter(settings.FreeRate, settings.TrustedProxies.Prefixes(), n.registry),
		Meter:        access.NewMeter(accounts.New(store), n.logger),
		Payments:     gate,
		Prices:       prices,
		Documents:    documents,
		PurgeEnabled: n.cfg.Purge.Kind != "",
		Logger:       n.logger,
		Log:          api.LogOptions{SampleRate: n.cfg.Log.Sample, SlowThreshold: n.cfg.Log.Slow},
		Tracer:       n.tracer,
		Metrics:      n.registry,
	})
	mcp.New(mcp.Options{
		Node: served, PublicURL: n.cfg.API.PublicURL, Origins: n.cfg.API.MCPOrigins.All(),
		Documents: documents, Metrics: n.registry, Tracer: n.tracer, Payments: gate != nil,
	})
	if err := explore.Mount(explore.Options{Node: served, Prices: prices, PublicURL: n.cfg.API.PublicURL}); err != nil {
		return nil, err
	}
	n.background(served.Watch)
	go func() {
		// Connections that arrive in the meantime queue at the open listener.
		n.awaitFirstView(served)
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

// awaitFirstView delays the first requests until the node has read what is published: load balancers
// that do not poll /readyz would get 503 from each node that starts.
func (n *node) awaitFirstView(served *api.API) {
	ctx, cancel := context.WithTimeout(context.Background(), n.cfg.API.RequestTimeout/2)
	defer cancel()
	pollReady(ctx, served, 10*time.Millisecond)
}

// pollReady waits until the API is ready, and reports false when ctx ends first.
func pollReady(ctx context.Context, served *api.API, interval time.Duration) bool {
	for served.Ready(ctx) != nil {
		if backoff.Wait(ctx, interval); ctx.Err() != nil {
			return false
		}
	}
	return true
}
