// Package cmd is the command line of pnyx: a file a command.
package cmd

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
)

// Execute runs the command that the arguments name and returns the exit status of the
// process.
func Execute() int {
	// The client's own log would repeat the errors that it returns.
	logging.Disable()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	err := rootCommand().ExecuteContext(ctx)
	if err != nil {
		fmt.Fprintln(os.Stderr, "pnyx:", err)
		return exitStatus(err)
	}
	return 0
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
