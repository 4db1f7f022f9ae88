package cmd

import (
	"cmp"
	"encoding/json"
	"fmt"
	"log/slog"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/cobra"

	"pnyx/api"
)

// version, commit and built are set by the linker, see the Makefile.
var version, commit, built string //nolint:gochecknoglobals // the linker sets variables only

// buildInfo identifies the program in logs, in metrics and in the output of "pnyx version".
type buildInfo struct {
	Version string `json:"version"` // the release, or "devel"
	Commit  string `json:"commit"`  // the git commit, or "unknown"
	// Built is the RFC 3339 time of the build; usually empty, so that builds of the same source are identical.
	Built string `json:"built,omitempty"`
	Go    string `json:"go"` // without the prefix "go"
	// Surface is the version of the API surface, which changes independently of Version.
	Surface string `json:"surface"`
}

// thisBuild returns what the linker set, or the commit that Go writes into the binary.
func thisBuild() buildInfo {
	var revision string
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, setting := range info.Settings {
			if setting.Key == "vcs.revision" {
				revision = setting.Value
			}
		}
	}
	return buildInfo{
		Version: cmp.Or(version, "devel"),
		Commit:  cmp.Or(commit, revision, "unknown"),
		Built:   built,
		Go:      strings.TrimPrefix(runtime.Version(), "go"),
		Surface: api.SurfaceVersion,
	}
}

// attrs returns the build as fields of the first log line of a service.
func (b buildInfo) attrs() []slog.Attr {
	return []slog.Attr{slog.String("version", b.Version), slog.String("commit", b.Commit), slog.String("go", b.Go)}
}

// buildMetric returns a gauge that queries join other metrics with.
func buildMetric() prometheus.Collector {
	b := thisBuild()
	metric := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "pnyx_build_info", Help: "Constant 1, with the running version in the labels.",
		ConstLabels: prometheus.Labels{
			"version": b.Version, "commit": b.Commit, "go": b.Go, "surface": b.Surface,
		},
	})
	metric.Set(1)
	return metric
}

// versionCommand reads no settings, so that it works in any environment.
func versionCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Show which version this is",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			b := thisBuild()
			if asJSON {
				return json.NewEncoder(cmd.OutOrStdout()).Encode(b)
			}
			fmt.Fprintf(cmd.OutOrStdout(), "pnyx %s\ncommit %s\n", b.Version, b.Commit)
			if b.Built != "" {
				fmt.Fprintf(cmd.OutOrStdout(), "built %s\n", b.Built)
			}
			fmt.Fprintf(cmd.OutOrStdout(), "go %s\nsurface %s\n", b.Go, b.Surface)
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}
