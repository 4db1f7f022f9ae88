package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	"pnyx/config"
	"pnyx/demo"
	"pnyx/warehouse"
	"pnyx/warehouse/importer"
)

// loadDemo fills an empty warehouse with invented data that was generated a
// moment ago; one that holds anything is left alone.
func loadDemo(ctx context.Context, opened *warehouse.Warehouse, cfg config.Config, out io.Writer) (err error) {
	empty, err := opened.Empty(ctx)
	if err != nil || !empty {
		return err
	}
	fmt.Fprintln(out, "Loading invented governance data for the demonstration…")
	dir, err := os.MkdirTemp("", "pnyx-demo-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	options := demo.Demo(time.Now())
	options.Dir = dir
	if _, err := demo.Write(ctx, options, nil); err != nil {
		return err
	}
	report, err := importer.Run(ctx, []string{dir}, importOptions(opened, cfg, slog.New(slog.DiscardHandler)))
	if err != nil {
		return err
	}
	return errors.Join(report.Problems...)
}
