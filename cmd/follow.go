package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"pnyx/backoff"
	"pnyx/follow"
	"pnyx/follow/sources"
	"pnyx/governance"
	"pnyx/telemetry"
	"pnyx/warehouse"
	"pnyx/warehouse/records"
)

func followCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "follow",
		Short: "Follow live sources alone, into a ClickHouse server",
		Long: `Follow the live sources that the file at PNYX_SOURCES names, into a ClickHouse server.
Any number may run: one of them at a time follows an upstream system, by a lease in Redis,
and another takes over when it ends. A change of the file applies within seconds. serve
follows by itself where PNYX_SOURCES is set.`,
		Args: cobra.NoArgs,
		RunE: service(func(cmd *cobra.Command, _ []string, s *session) error {
			switch {
			case s.cfg.Follow.Sources == "":
				return errNoSources
			case s.cfg.Warehouse.URL == "":
				return errors.New("CLICKHOUSE_URL: a follower alone needs a ClickHouse server")
			case s.cfg.Cache.URL == "":
				return errors.New("REDIS_URL: a follower alone needs the Redis of the workers, for its leases")
			}
			return newNode(s).serveFollower(cmd.Context(), cmd.OutOrStdout())
		}),
	}
}

var errNoSources = errors.New("PNYX_SOURCES: want the path of a sources file; docs/sources.example.yaml is one")

func (n *node) serveFollower(ctx context.Context, out io.Writer) error {
	if err := n.begin(ctx, "follow", n.checkSourcesFile()); err != nil {
		return err
	}
	opened, err := n.awaitWarehouse(ctx)
	if err != nil {
		return err
	}
	opened.Instrument(n.registry, n.tracer)
	if err := n.startFollower(ctx, opened, string(n.cfg.Cache.URL)); err != nil {
		return err
	}
	n.probes.started(opened.Ping) // a source that lags does not make the process useless
	fmt.Fprintf(out, "following, health and metrics on http://%s\n", n.cfg.API.AdminListen)
	return n.wait(ctx)
}

// checkSourcesFile returns why the sources file would be refused, before anything is started.
func (n *node) checkSourcesFile() error {
	if n.cfg.Follow.Sources == "" {
		return nil
	}
	if _, err := sources.Load(n.cfg.Follow.Sources, lookupKey); err != nil {
		return fmt.Errorf("PNYX_SOURCES: %w", err)
	}
	return nil
}

// startFollower follows what the sources file names, and its changes, until the node stops. It does nothing
// without a file. A file that is refused now is logged, and what was followed before is followed on: see
// checkSourcesFile.
func (n *node) startFollower(ctx context.Context, opened *warehouse.Warehouse, redisURL string) error {
	path := n.cfg.Follow.Sources
	if path == "" {
		return nil
	}
	store, err := n.openStore(ctx, redisURL, workerRedisTimeout)
	if err != nil {
		return err
	}
	store.Instrument(n.redisInstruments("follow"))
	notifyCommits(opened, store, n.logger)
	follower := follow.New(follow.Options{Warehouse: opened, Store: store, Logger: n.logger, Metrics: n.registry})
	made := &upstreams{logger: n.logger, metrics: n.registry}
	valid := telemetry.Gauge(n.registry, "pnyx_follow_sources_valid",
		"1 while the sources file is applied as it is, 0 while it is refused and its former content is followed.")
	var applied atomic.Pointer[sources.File]
	watcher := sources.Watcher{
		Path: path, Environ: lookupKey,
		Changed: func(ctx context.Context, file sources.File) error {
			conflicts, err := declareDAOs(ctx, opened, file)
			if err != nil {
				return err
			}
			if conflicts != nil {
				n.logger.LogAttrs(ctx, slog.LevelWarn, "sources of the sources file belong to other DAOs", slog.Any("error", conflicts))
			}
			all := made.of(file)
			follower.Set(all...)
			applied.Store(&file)
			valid.Set(1)
			n.logger.LogAttrs(ctx, slog.LevelInfo, "sources file applied",
				slog.Int("daos", len(file.DAOs)), slog.Int("upstreams", len(all)))
			return nil
		},
		Refused: func(err error) {
			if err == nil {
				valid.Set(1)
				return
			}
			valid.Set(0)
			n.logger.LogAttrs(ctx, slog.LevelError, "sources file not applied, its former content is followed",
				slog.Any("error", err))
		},
	}
	n.background(follower.Run)
	n.background(watcher.Run)
	n.background(func(ctx context.Context) { keepDeclared(ctx, opened, &applied, n.logger) })
	n.background(func(ctx context.Context) { logBackfills(ctx, opened, n.logger) })
	return nil
}

// keepDeclared declares the DAOs of the sources file until ctx ends: an import of a DAO replaces what was
// declared.
func keepDeclared(ctx context.Context, opened *warehouse.Warehouse, applied *atomic.Pointer[sources.File], logger *slog.Logger) {
	const declareInterval = 20 * time.Second // how soon a DAO gets its sources back that an import has left out
	for backoff.Wait(ctx, declareInterval); ctx.Err() == nil; backoff.Wait(ctx, declareInterval) {
		file := applied.Load()
		if file == nil {
			continue
		}
		if _, err := declareDAOs(ctx, opened, *file); err != nil && ctx.Err() == nil {
			logger.LogAttrs(ctx, slog.LevelWarn, "DAOs of the sources file not declared, retrying", slog.Any("error", err))
		}
	}
}

// declareDAOs writes the DAOs of a sources file that differ. conflicts names the sources that other DAOs have.
func declareDAOs(ctx context.Context, opened *warehouse.Warehouse, file sources.File) (conflicts, err error) {
	declared, err := records.DeclaredDAOs(ctx, opened)
	if err != nil {
		return nil, err
	}
	all, conflicts := file.Records(declared)
	names, err := records.HeldNames(ctx, opened, governance.NameOfFile, "")
	if err != nil {
		return conflicts, err
	}
	all = append(all, file.NameRecords(names)...)
	_, err = records.Append(ctx, opened, records.Import{ID: uuid.New(), ObservedAt: time.Now()}, all)
	return conflicts, err
}
