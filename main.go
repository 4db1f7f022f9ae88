// Command pnyx is a read-only HTTP API over DAO governance: the warehouse behind
// it, the worker that works answers out, the nodes that serve them, and the tools
// to fill and question it.
package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	_ "time/tzdata" // a ClickHouse server names its time zone; the image holds no other files

	"github.com/redis/go-redis/v9/logging"
	"github.com/spf13/cobra"
	_ "golang.org/x/crypto/x509roots/fallback" // whom TLS trusts where the system has no certificates

	"pnyx/cache"
	"pnyx/config"
	"pnyx/warehouse/engine"
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == engine.ChildCommand {
		os.Exit(engine.RunChild(os.Args[2:]))
	}
	// What Redis is up to is told by errors, once, and not by its client on the side.
	logging.Disable()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	err := rootCommand().ExecuteContext(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "pnyx:", err)
		os.Exit(exitStatus(err))
	}
}

// errRejected is the end of an import that refused something.
var errRejected = errors.New("not everything was imported")

// exitStatus is 1 for an error, and 3 for an import that went through but refused
// some records or files.
func exitStatus(err error) int {
	if errors.Is(err, errRejected) {
		return 3
	}
	return 1
}

func rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:           "pnyx",
		Short:         "Governance data of DAOs, over HTTP",
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.CompletionOptions.HiddenDefaultCmd = true
	root.AddCommand(
		serveCommand(), apiCommand(), workerCommand(), importCommand(),
		tokenCommand(), paymentsCommand(), sqlCommand(), generateCommand(), configCommand(),
		openapiCommand(), engineCommand(), migrateCommand(), versionCommand(), edgeCommand(),
	)
	return root
}

// command is what a command does once it has its settings and its log.
type command func(cmd *cobra.Command, args []string, cfg config.Config, logger *slog.Logger) error

// settings reads the configuration. What only the part behind a setting can judge
// is judged here, before anything starts.
func settings() (config.Config, error) {
	cfg, err := config.Load()
	if err == nil && cfg.Cache.URL != "" {
		if err = cache.CheckURL(string(cfg.Cache.URL)); err != nil {
			err = fmt.Errorf("settings refused:\n  REDIS_URL=%q: %w", cfg.Cache.URL, err)
		}
	}
	return cfg, err
}

// service runs a command that stays.
func service(run command) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		cfg, err := settings()
		if err != nil {
			return err
		}
		logger := newLogger(cfg.Log)
		logger.LogAttrs(cmd.Context(), slog.LevelInfo, "starting "+cmd.Name(), thisBuild().attrs()...) //nolint:sloglint // one of a few commands
		return run(cmd, args, cfg, logger)
	}
}

// task runs a command that does one thing and ends: it says what it has to say
// itself, and logs only what goes wrong.
func task(run command) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		cfg, err := settings()
		if err != nil {
			return err
		}
		if cfg.Log.Level == slog.LevelInfo {
			cfg.Log.Level = slog.LevelWarn
		}
		return run(cmd, args, cfg, newLogger(cfg.Log))
	}
}

func newLogger(log config.Log) *slog.Logger {
	options := &slog.HandlerOptions{Level: log.Level}
	if log.Format == "json" {
		return slog.New(slog.NewJSONHandler(os.Stderr, options))
	}
	return slog.New(slog.NewTextHandler(os.Stderr, options))
}
