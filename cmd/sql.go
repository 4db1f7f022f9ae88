package cmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"

	"github.com/mattn/go-isatty"
	"github.com/spf13/cobra"

	"pnyx/warehouse"
	"pnyx/warehouse/counts"
	"pnyx/warehouse/records"
)

// sqlCommand runs one query. The server enforces that it only reads, and writes the result itself.
func sqlCommand() *cobra.Command {
	var format, file string
	cmd := &cobra.Command{
		Use:   "sql [QUERY]",
		Short: "Run a read-only query on the warehouse",
		Long: `Run a query on the views of the warehouse in ClickHouse SQL; docs/schema.md describes
them. The server itself rejects writes, and reads of files or other addresses. The query is the argument, or is read from a file,
or from standard input. docs/analysts.md has the limits, the formats and other clients.`,
		Example: `  pnyx sql 'SHOW TABLES'
  pnyx sql 'DESCRIBE ballots'
  pnyx sql 'SELECT dao_id, total_votes FROM dao_participation'
  pnyx sql --format Parquet --file query.sql > result.parquet`,
		Args: cobra.MaximumNArgs(1),
		RunE: task(func(cmd *cobra.Command, args []string, s *session) (err error) {
			query, err := readQuery(cmd.InOrStdin(), args, file)
			if err != nil {
				return err
			}
			analyst, err := s.openAnalyst(cmd.Context())
			if err != nil {
				return err
			}
			format, escape := serverFormat(format)
			out := cmd.OutOrStdout()
			if file, is := out.(*os.File); escape || is && isatty.IsTerminal(file.Fd()) {
				escaper := &controlEscaper{out: out}
				defer func() { err = cmp.Or(err, escaper.Close()) }()
				out = escaper
			}
			return analyst.Ask(cmd.Context(), query, format, formatSettings(), out)
		}),
	}
	cmd.Flags().StringVar(&format, "format", "table", "table, csv, markdown, json (one object a line), or any format of ClickHouse")
	cmd.Flags().StringVarP(&file, "file", "f", "", "read the query from a file; - is standard input")
	return cmd
}

// readQuery returns an argument, the content of a file, or standard input where that is no terminal.
func readQuery(in io.Reader, args []string, file string) (string, error) {
	const maxQueryBytes = 1 << 20 // ClickHouse's own bound is lower unless it is set otherwise
	if len(args) == 1 {
		if file != "" {
			return "", errors.New("sql: want either a query or --file, got both")
		}
		if args[0] != "-" {
			return args[0], nil
		}
	}
	if stdin, is := in.(*os.File); is && len(args) == 0 && file == "" && isatty.IsTerminal(stdin.Fd()) {
		return "", errors.New("sql: want a query, --file FILE, or a query on standard input")
	}
	text, err := readBounded(in, cmp.Or(file, "-"), maxQueryBytes)
	if err != nil {
		return "", fmt.Errorf("read the query: %w", err)
	}
	return string(text), nil
}

// readBounded returns a file, "-" for the standard input, that has a number of bytes at the most.
func readBounded(in io.Reader, name string, most int) ([]byte, error) {
	if name != "-" {
		file, err := os.Open(name) //nolint:gosec // the operator's own choice
		if err != nil {
			return nil, err
		}
		defer file.Close()
		in = file
	}
	text, err := io.ReadAll(io.LimitReader(in, int64(most)+1))
	if err == nil && len(text) > most {
		err = fmt.Errorf("it has more than %d bytes", most)
	}
	return text, err
}

// serverFormat returns ClickHouse's name of a format. escape is set for those that people read.
func serverFormat(name string) (format string, escape bool) {
	switch name {
	case "table":
		return "PrettyCompactMonoBlock", true
	case "markdown":
		return "Markdown", true
	case "csv":
		return "CSVWithNames", false
	case "json":
		return "JSONEachRow", false
	}
	return name, false
}

// formatSettings returns how results are written. A SETTINGS clause in the query takes precedence.
func formatSettings() map[string]string {
	return map[string]string{
		// Most readers of JSON parse numbers as floats, which lose digits of voting power.
		"output_format_json_quote_decimals": "1",
		// A longer table has its middle left out, and says so.
		"output_format_pretty_max_rows":                          "10000",
		"output_format_pretty_row_numbers":                       "0",
		"output_format_pretty_single_large_number_tip_threshold": "0",
		"output_format_pretty_max_column_name_width_cut_to":      "0",
		"output_format_markdown_escape_special_characters":       "1",
	}
}

func (s *session) openAnalyst(ctx context.Context) (*warehouse.Analyst, error) {
	cfg := s.cfg.SQL
	options := warehouse.AnalystOptions{
		URL: string(cfg.URL), Timeout: cfg.Timeout,
		MaxMemory: int64(cfg.MaxMemory), MaxRows: cfg.MaxRows,
	}
	server := s.warehouseOptions()
	switch {
	case options.URL != "":
	case server.URL != "":
		var err error
		if options.URL, err = warehouse.HTTPAddress(ctx, server); err != nil {
			return nil, fmt.Errorf("%w: set PNYX_SQL_URL", err)
		}
	default:
		// Opening it migrates the schema, which the user analyst may not do.
		opened, err := s.openWarehouse(ctx, reachExisting)
		if err != nil {
			return nil, err
		}
		if err := s.warnUnpublished(ctx, opened); err != nil {
			return nil, err
		}
		instance, err := reachExisting(ctx, s)
		if err != nil {
			return nil, err
		}
		options.URL = instance.AnalystURL(warehouse.DefaultDatabase)
	}
	analyst, err := warehouse.NewAnalyst(ctx, options)
	if err != nil {
		return nil, err
	}
	s.undo.add(analyst.Close)
	return analyst, nil
}

// warnUnpublished logs where the views lack what is imported, and no instance will publish it.
func (s *session) warnUnpublished(ctx context.Context, opened *warehouse.Warehouse) error {
	if !ownsEngine(s.cfg) {
		return nil
	}
	proposals, err := counts.UnpublishedProposals(ctx, opened)
	if err != nil {
		return err
	}
	if proposals > 0 {
		s.logger.LogAttrs(ctx, slog.LevelWarn, "the views lack what is not published yet: start pnyx serve, or repeat the import",
			slog.Uint64("proposals", proposals))
	}
	open, err := records.OpenBatches(ctx, opened)
	if err == nil && open > 0 {
		s.logger.LogAttrs(ctx, slog.LevelWarn, "the views lack what was written since an import that runs, or was cut off, began: it is there when "+
			"the import ends, or two minutes after it was cut off", slog.Uint64("batches", open))
	}
	return err
}
