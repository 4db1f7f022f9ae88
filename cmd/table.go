package cmd

import (
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
)

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

// shown returns a row of formatted values.
func shown(values []any) table.Row {
	row := make(table.Row, len(values))
	for i, value := range values {
		row[i] = shownValue(value)
	}
	return row
}

// shownValue formats a time in UTC to the millisecond. Other values are returned unchanged
// for the table to format.
func shownValue(value any) any {
	if at, is := value.(time.Time); is {
		return at.UTC().Format("2006-01-02 15:04:05.000")
	}
	return value
}
