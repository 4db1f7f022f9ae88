package cmd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"reflect"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/shopspring/decimal"
	"github.com/spf13/cobra"

	"pnyx/config"
	"pnyx/warehouse"
)

// maxTableRows bounds the rows that are buffered to lay out a table; csv and json stream.
const maxTableRows = 10_000

// sqlCommand runs one query for people and scripts. The query comes from the caller
// unchanged; the server enforces that it only reads.
func sqlCommand() *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:   "sql 'SELECT …'",
		Short: "Run a read-only query on the warehouse",
		Long: `Run a query on the warehouse in ClickHouse SQL. The server itself rejects writes,
and reads of files or other addresses.`,
		Example: `  pnyx sql 'SELECT dao_id, count() FROM proposal_states FINAL GROUP BY dao_id'`,
		Args:    cobra.ExactArgs(1),
		RunE: task(func(cmd *cobra.Command, args []string, cfg config.Config, logger *slog.Logger) (err error) {
			show, known := printers()[format]
			if !known {
				return fmt.Errorf("--format %s: want table, csv, markdown or json", format)
			}
			var undo cleanups
			defer func() { err = errors.Join(err, undo.run()) }()
			opened, err := openReadOnly(cmd.Context(), cfg, logger, &undo)
			if err != nil {
				return err
			}
			rows, err := opened.Query(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			return errors.Join(show(cmd.OutOrStdout(), rows), rows.Close())
		}),
	}
	cmd.Flags().StringVar(&format, "format", "table", "table, csv, markdown or json (one object a line)")
	return cmd
}

// openReadOnly opens the configured server, or the embedded engine as user analyst, who
// may only read. undo closes the connection, and the engine if this command started it.
func openReadOnly(
	ctx context.Context, cfg config.Config, logger *slog.Logger, undo *cleanups,
) (*warehouse.Warehouse, error) {
	options := warehouseOptions(cfg, logger)
	if options.URL == "" {
		// Opening it migrates the schema, which the user analyst may not do.
		if _, err := openWarehouse(ctx, cfg, logger, undo, reachExisting); err != nil {
			return nil, err
		}
		instance, err := reachExisting(ctx, cfg, logger, undo)
		if err != nil {
			return nil, err
		}
		options.URL = instance.AnalystURL(warehouse.DefaultDatabase)
	}
	opened, err := warehouse.OpenReadOnly(ctx, options)
	if err != nil {
		return nil, err
	}
	undo.add(opened.Close)
	return opened, nil
}

// printers returns the functions that print rows, by the name of the format. They read
// all rows, but do not close them.
func printers() map[string]func(io.Writer, *warehouse.Rows) error {
	return map[string]func(io.Writer, *warehouse.Rows) error{
		"table":    laidOut(table.Writer.Render),
		"markdown": laidOut(table.Writer.RenderMarkdown),
		"csv":      printCSV,
		"json":     printJSON,
	}
}

// laidOut returns a printer that buffers all rows, because the widths of the columns
// depend on every row. More than maxTableRows rows are an error, and nothing is printed
// then.
func laidOut(render func(table.Writer) string) func(io.Writer, *warehouse.Rows) error {
	return func(out io.Writer, rows *warehouse.Rows) error {
		t := newTable(rows.Columns)
		for count := 0; ; count++ {
			values, err := rows.Next()
			if err != nil {
				return err
			}
			if values == nil {
				_, err := fmt.Fprintln(out, render(t))
				return err
			}
			if count == maxTableRows {
				return fmt.Errorf("more than %d rows for a table: use LIMIT, or --format csv", maxTableRows)
			}
			t.AppendRow(shown(values))
		}
	}
}

// newTable returns an empty table with the given column names, which it prints
// unchanged.
func newTable(columns []string) table.Writer {
	t := table.NewWriter()
	t.SetStyle(table.StyleLight)
	t.Style().Format.Header = text.FormatDefault
	header := make(table.Row, len(columns))
	for i, column := range columns {
		header[i] = column
	}
	t.AppendHeader(header)
	return t
}

// printCSV prints row by row, so that the result need not fit into memory.
func printCSV(out io.Writer, rows *warehouse.Rows) error {
	header := newTable(rows.Columns)
	if _, err := fmt.Fprintln(out, header.RenderCSV()); err != nil {
		return err
	}
	for {
		values, err := rows.Next()
		if err != nil || values == nil {
			return err
		}
		// A table for each row quotes its values and is dropped at once.
		line := table.NewWriter()
		line.AppendRow(shown(values))
		if _, err := fmt.Fprintln(out, line.RenderCSV()); err != nil {
			return err
		}
	}
}

// printJSON prints one JSON object a line, with the columns as keys. It streams like
// printCSV.
func printJSON(out io.Writer, rows *warehouse.Rows) error {
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	for {
		values, err := rows.Next()
		if err != nil || values == nil {
			return err
		}
		object := make(map[string]any, len(values))
		for i, value := range values {
			object[rows.Columns[i]] = value
		}
		if err := encoder.Encode(object); err != nil {
			return err
		}
	}
}

func shown(values []any) table.Row {
	row := make(table.Row, len(values))
	for i, value := range values {
		row[i] = shownValue(value)
	}
	return row
}

// shownValue formats one value: times in UTC to the millisecond, decimals exactly,
// tuples and arrays in brackets, and NULL for a null. Other values are returned
// unchanged for the table to format.
func shownValue(value any) any {
	switch value := value.(type) {
	case time.Time:
		return value.UTC().Format("2006-01-02 15:04:05.000")
	case decimal.Decimal:
		return value.String()
	case []any:
		return "(" + strings.Join(shownAll(value), ", ") + ")"
	case []string:
		return "[" + strings.Join(value, ", ") + "]"
	// As ClickHouse writes it, and unlike an empty string.
	case nil:
		return "NULL"
	}
	// Other nullable values are pointers.
	if pointer := reflect.ValueOf(value); pointer.Kind() == reflect.Pointer {
		if pointer.IsNil() {
			return "NULL"
		}
		return shownValue(pointer.Elem().Interface())
	}
	return value
}

// shownAll formats the members of a tuple as text.
func shownAll(values []any) []string {
	texts := make([]string, len(values))
	for i, value := range values {
		texts[i] = fmt.Sprint(shownValue(value))
	}
	return texts
}
