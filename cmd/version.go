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

// The linker sets these; see the Makefile.
//
//nolint:gochecknoglobals // the linker sets variables only
var version, commit, built string

// buildInfo identifies the program.
type buildInfo struct {
	Version string `json:"version"`
	Commit  string `json:"commit"`
	// Built is the RFC 3339 time of the build; empty unless the build sets it, so that
	// builds of the same source are identical.
	Built string `json:"built,omitempty"`
	Go    string `json:"go"`
	// Surface is the version of the API surface.
	Surface string `json:"surface"`
}

// thisBuild returns what the linker set; the commit falls back to the one that Go writes
// into the binary.
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

// attrs returns the log fields of a build.
func (b buildInfo) attrs() []slog.Attr {
	return []slog.Attr{slog.String("version", b.Version), slog.String("commit", b.Commit), slog.String("go", b.Go)}
}

// buildMetric returns a gauge that is always 1 and has the build in its labels.
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
