package cmd

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"pnyx/api/httpcache"
	"pnyx/api/routes"
	"pnyx/cache"
	"pnyx/config"
	"pnyx/edge/purge"
	"pnyx/warehouse"
	"pnyx/worker"
)

// workerCommand runs a worker alone. It needs CLICKHOUSE_URL and REDIS_URL: it cannot reach embedded servers.
func workerCommand() *cobra.Command {
	var fillsOnly bool
	cmd := &cobra.Command{
		Use:   "worker",
		Short: "Run a worker alone, from a ClickHouse server to a Redis",
		Long: `Run a worker alone, from a ClickHouse server to a Redis. Any number may run: one of
them publishes, the others stand by, and all build pages on demand. With --fills-only a
worker only builds pages, so the number of such workers can follow the load.`,
		Args: cobra.NoArgs,
		RunE: service(func(cmd *cobra.Command, _ []string, s *session) error {
			if s.cfg.Warehouse.URL == "" {
				return errors.New("CLICKHOUSE_URL: a worker alone needs a ClickHouse server")
			}
			if s.cfg.Cache.URL == "" {
				return errors.New("REDIS_URL: a worker alone needs the Redis that API nodes read")
			}
			return newNode(s).serveWorker(cmd.Context(), cmd.OutOrStdout(), fillsOnly)
		}),
	}
	cmd.Flags().BoolVar(&fillsOnly, "fills-only", false, "build pages on demand, but do not publish or write accounts")
	return cmd
}

// startWorker publishes to the Redis at url until the node stops; with fillsOnly it only builds pages.
func (n *node) startWorker(opened *warehouse.Warehouse, url string, fillsOnly bool) error {
	options := worker.Options{FillsOnly: fillsOnly}
	if !fillsOnly {
		purger, err := n.startPurger()
		if err != nil {
			return err
		}
		options.PublishInterval, options.LeaseTTL, options.Purge = n.cfg.Worker.PublishInterval, n.cfg.Worker.LeaseTTL, purger
		options.BackupScheduled = n.cfg.Backup.Scheduled == "on"
		options.PrivateReceivers, options.V2LaunchedAt = n.cfg.Webhook.Receivers == config.PrivateReceivers, n.cfg.Access.V2Launch.Time()
	}
	store, err := n.openStore(context.Background(), url, workerRedisTimeout)
	if err != nil {
		return err
	}
	store.Instrument(n.redisInstruments("worker"))
	opened.Instrument(n.registry, n.tracer)
	notifyCommits(opened, store, n.logger)
	options.Warehouse, options.Store, options.FillTimeout = opened, store, n.cfg.API.RequestTimeout
	options.Logger, options.Metrics, options.Tracer = n.logger, n.registry, n.tracer
	n.background(worker.New(options).Run)
	return nil
}

// startPurger returns the function that passes tags to the caches in front of the API. The function does not
// block; it is nil when PNYX_PURGE_KIND is not set.
func (n *node) startPurger() (func([]cache.Tag), error) {
	settings := n.cfg.Purge
	if settings.Kind == "" {
		return nil, nil //nolint:nilnil // purging is off
	}
	if settings.URLs == "" {
		// API nodes need only the kind, so config does not require the address.
		return nil, errors.New("PNYX_PURGE_URL: is needed by the worker where PNYX_PURGE_KIND is set")
	}
	purger := purge.New(purge.Options{
		Kind:       purge.Kind(settings.Kind),
		URLs:       settings.URLs.All(),
		Token:      string(settings.Token),
		Everything: string(cache.EverythingTag),
		Settle:     httpcache.NodeLag + httpcache.EdgeLag,
		Keeps:      routes.MaxPurgedAge(),
		Logger:     n.logger,
		Metrics:    n.registry,
	})
	n.background(purger.Run)
	// Package purge does not import cache, so tags become plain text here.
	return func(tags []cache.Tag) { purger.Purge(warehouse.NonNilTexts(tags)) }, nil
}
