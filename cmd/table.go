package cmd

import (
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
)

func newTable(columns ...any) table.Writer {
	t := table.NewWriter()
	t.SetStyle(table.StyleLight)
	t.Style().Format.Header = text.FormatDefault
	t.AppendHeader(columns)
	return t
}

func shownTime(at time.Time) string { return at.UTC().Format("2006-01-02 15:04:05.000") }
