package cmd

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/user"

	"github.com/spf13/cobra"

	"pnyx/access/x402"
	"pnyx/config"
	"pnyx/edge"
)

func edgeCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "edge",
		Short: "Run the edge: nginx, as a cache in front of the API",
		Args:  cobra.NoArgs,
		RunE: service(func(cmd *cobra.Command, _ []string, s *session) error {
			options := edgeOptions(s.cfg)
			err := errors.Join(checkFree("PNYX_EDGE_LISTEN", options.Listen), checkFree("PNYX_EDGE_ADMIN_LISTEN", options.AdminListen))
			if err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "\nThe edge answers on http://%s, from %s (health and status: http://%s)\n\n",
				options.Listen, options.Origin, options.AdminListen)
			if options.Token == "" {
				fmt.Fprintf(cmd.OutOrStdout(), "Without PNYX_INTERNAL_TOKEN, the same here and at the nodes, paid answers are not cached.\n\n")
			}
			return edge.Run(cmd.Context(), options, cmd.OutOrStdout(), cmd.ErrOrStderr())
		}),
	}
	cmd.AddCommand(edgeConfigCommand())
	return cmd
}

func edgeConfigCommand() *cobra.Command {
	var out string
	cmd := &cobra.Command{
		Use:   "config",
		Short: "Print the edge's nginx.conf, which contains the internal token",
		Args:  cobra.NoArgs,
		RunE: task(func(cmd *cobra.Command, _ []string, s *session) error {
			if out == "" {
				return edge.Write(cmd.OutOrStdout(), edgeOptions(s.cfg))
			}
			return writeSecret(out, func(w io.Writer) error { return edge.Write(w, edgeOptions(s.cfg)) })
		}),
	}
	cmd.Flags().StringVar(&out, "out", "", "write it to this file, readable by its owner only")
	return cmd
}

// writeSecret writes a file that only its owner may read. An error of write leaves no file.
func writeSecret(path string, write func(io.Writer) error) error {
	var text bytes.Buffer
	if err := write(&text); err != nil {
		return err
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600) //nolint:gosec // the operator names it
	if err != nil {
		return err
	}
	// A file that was there keeps its mode.
	if info, failed := file.Stat(); failed != nil || info.Mode().IsRegular() {
		err = errors.Join(failed, file.Chmod(0o600))
	}
	if err == nil {
		_, err = file.Write(text.Bytes())
	}
	return errors.Join(err, file.Close())
}

// edgeOptions returns the options of the edge by the settings. PaymentTimeout is the timeout of
// nodes with the same settings; edge.Run refuses to start before one with others.
func edgeOptions(cfg config.Config) edge.Options {
	options := edge.Options{
		Listen: cfg.Edge.Listen, AdminListen: cfg.Edge.AdminListen, Origin: cfg.Edge.Origin,
		Dir: cfg.Edge.Dir, CacheBytes: uint64(cfg.Edge.CacheSize), //nolint:gosec // validated to be positive
		AnswerTimeout:  cfg.API.RequestTimeout,
		PaymentTimeout: x402.MaxDuration(cfg.Payment.VerifyTimeout, cfg.API.RequestTimeout, cfg.Payment.SettleTimeout),
		Modules:        cfg.Edge.Modules, LogSample: cfg.Log.Sample,
	}
	if tokens := cfg.Access.Internal.All(); len(tokens) > 0 {
		// During a rotation the nodes accept both, so the first one is always valid.
		options.Token = tokens[0] // nodes accept a second one only during a rotation
	}
	// A master that runs as root would make its workers nobody, who cannot read its folder.
	if me, err := user.Current(); err == nil && os.Geteuid() == 0 {
		options.User = me.Username
	}
	return options
}
