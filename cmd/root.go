// Package cmd is the command line of pnyx, one file a command. Execute runs it. The
// commands serve, api and worker run a node, which node.go wires from its roles; the
// others open what they need (open.go), do one thing and exit.
package cmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"
	_ "time/tzdata" // ClickHouse servers name their time zone, and the image holds no zone files

	"github.com/redis/go-redis/v9/logging"
	"github.com/spf13/cobra"
	_ "golang.org/x/crypto/x509roots/fallback" // root certificates for systems that have none

	"pnyx/cache"
	"pnyx/config"
	"pnyx/warehouse"
)

// Execute runs the command that the arguments name and returns the exit status of the process.
func Execute() int {
	const secondSignalDelay = 500 * time.Millisecond // how long after the first signal another one counts
	// The Redis client logs errors that it also returns.
	logging.Disable()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	// A further signal ends the command at once. timeout and some shells deliver one signal twice.
	context.AfterFunc(ctx, func() { time.AfterFunc(secondSignalDelay, stop) })
	err := rootCommand().ExecuteContext(ctx)
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		err = errInterrupted
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "pnyx:", printable(err.Error()))
		if errors.Is(err, errRejected) {
			return 3
		}
		return 1
	}
	return 0
}

var errInterrupted = errors.New("interrupted")

// errRejected is the error of an import that completed, but rejected records or files: status 3.
var errRejected = errors.New("not everything was imported")

func rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:           "pnyx",
		Short:         "Governance data of DAOs, over HTTP",
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	// The command completion works, but is not listed in the help.
	root.CompletionOptions.HiddenDefaultCmd = true
	root.AddCommand(
		serveCommand(), apiCommand(), workerCommand(), followCommand(), importCommand(), sourcesCommand(),
		tokenCommand(), webhookCommand(), paymentsCommand(), sqlCommand(), generateCommand(), configCommand(),
		backupCommand(), restoreCommand(),
		openapiCommand(), engineCommand(), migrateCommand(), versionCommand(), edgeCommand(), mcpCommand(),
	)
	root.SetFlagErrorFunc(usageError)
	root.InitDefaultHelpCmd()
	help, _, _ := root.Find([]string{"help"})
	help.Args = func(_ *cobra.Command, args []string) error {
		found, rest, err := root.Find(args)
		if err == nil && len(rest) > 0 {
			err = fmt.Errorf("unknown command %q for %q", rest[0], found.CommandPath())
		}
		return err
	}
	explainArguments(root)
	return root
}

// explainArguments makes wrong arguments and missing flags of a command and those below it an error that
// states the usage. Cobra prints the help for an unknown subcommand, and reports success.
func explainArguments(cmd *cobra.Command) {
	if cmd.HasSubCommands() && !cmd.Runnable() && cmd.HasParent() {
		cmd.DisableFlagsInUseLine = true
		cmd.Args = cobra.NoArgs
		cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	}
	if check := cmd.Args; check != nil {
		cmd.Args = func(cmd *cobra.Command, args []string) error { return usageError(cmd, check(cmd, args)) }
	}
	before := cmd.PreRunE
	cmd.PreRunE = func(cmd *cobra.Command, args []string) error {
		if before != nil {
			if err := before(cmd, args); err != nil {
				return err
			}
		}
		return usageError(cmd, cmp.Or(cmd.ValidateRequiredFlags(), cmd.ValidateFlagGroups()))
	}
	for _, below := range cmd.Commands() {
		explainArguments(below)
	}
}

func usageError(cmd *cobra.Command, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w\nusage: %s (%s --help)", err, cmd.UseLine(), cmd.CommandPath())
}

type session struct {
	cfg    config.Config
	logger *slog.Logger
	// undo closes what the command has opened when it ends.
	undo *cleanups
	// lends says that an engine it starts is stopped only when no other command uses it.
	lends bool
}

// command is the body of a command. Its error ends the process with the status that Execute gives it.
type command func(cmd *cobra.Command, args []string, s *session) error

func (c command) run(cmd *cobra.Command, args []string, cfg config.Config, logger *slog.Logger) (err error) {
	s := &session{cfg: cfg, logger: logger, undo: &cleanups{}}
	defer func() { err = errors.Join(err, s.undo.run()) }()
	return c(cmd, args, s)
}

// settings reads the configuration, and makes the checks that only the user of a setting can make.
func settings() (config.Config, error) {
	cfg, err := config.Load()
	if err == nil && cfg.Cache.URL != "" {
		if err = cache.CheckURL(string(cfg.Cache.URL)); err != nil {
			err = fmt.Errorf("settings refused:\n  REDIS_URL=%q: %w", cfg.Cache.URL, err)
		}
	}
	return cfg, err
}

// service adapts a long-running command for cobra, and logs the build at the start.
func service(run command) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		cfg, err := settings()
		if err != nil {
			return err
		}
		logger := newLogger(os.Stderr, cfg.Log)
		logger.LogAttrs(cmd.Context(), slog.LevelInfo, "starting "+cmd.Name(), thisBuild().attrs()...) //nolint:sloglint // one of a few commands
		return run.run(cmd, args, cfg, logger)
	}
}

// task adapts a command that does one thing, and logs only warnings unless another level than info is set.
func task(run command) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		cfg, err := settings()
		if err != nil {
			return err
		}
		log := cfg.Log
		if log.Level == slog.LevelInfo {
			log.Level = slog.LevelWarn
		}
		return run.run(cmd, args, cfg, newLogger(os.Stderr, log))
	}
}

func warehouseTask(
	reached reach, run func(cmd *cobra.Command, args []string, s *session, opened *warehouse.Warehouse) error,
) func(*cobra.Command, []string) error {
	return task(func(cmd *cobra.Command, args []string, s *session) error {
		opened, err := s.openWarehouse(cmd.Context(), reached)
		if err != nil {
			return err
		}
		return run(cmd, args, s, opened)
	})
}

// newLogger returns a logger that writes to out. Both formats escape control characters.
func newLogger(out io.Writer, log config.Log) *slog.Logger {
	options := &slog.HandlerOptions{Level: log.Level, ReplaceAttr: inMilliseconds}
	if log.Format == "json" {
		return slog.New(slog.NewJSONHandler(out, options))
	}
	return slog.New(slog.NewTextHandler(out, options))
}

// inMilliseconds makes every duration a number of milliseconds under a key that says so.
func inMilliseconds(_ []string, attr slog.Attr) slog.Attr {
	if attr.Value.Kind() != slog.KindDuration {
		return attr
	}
	return slog.Float64(attr.Key+"_ms", float64(attr.Value.Duration().Microseconds())/1000)
}
