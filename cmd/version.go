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
//nolint:gochecknoglobals // the linker can set nothing else
var version, commit, built string

// buildInfo says which program this is.
type buildInfo struct {
	Version string `json:"version"`
	Commit  string `json:"commit"`
	// Built is when, RFC 3339; empty where the build does not say, so that the same
	// source makes the same bytes.
	Built string `json:"built,omitempty"`
	Go    string `json:"go"`
	// Surface is the version of what the API answers to.
	Surface string `json:"surface"`
}

// thisBuild is what the linker was told; what it was not, Go may have written into
// the binary itself.
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

// attrs are the build's log fields.
func (b buildInfo) attrs() []slog.Attr {
	return []slog.Attr{slog.String("version", b.Version), slog.String("commit", b.Commit), slog.String("go", b.Go)}
}

// buildMetric is always 1; what it has to say is in its labels.
func buildMetric() prometheus.Collector {
	b := thisBuild()
	metric := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "pnyx_build_info", Help: "1, with the version that runs in the labels.",
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
	cmd.Flags().BoolVar(&asJSON, "json", false, "as one JSON object")
	return cmd
}
