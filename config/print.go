package config

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// Print writes the effective settings with the sources of their values, secrets masked.
func (c Config) Print(w io.Writer) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	group := ""
	for _, f := range fields(&c) {
		if f.Group != group {
			group = f.Group
			fmt.Fprintf(table, "# %s\n", group)
		}
		source := "default"
		if c.given[f.Name] {
			source = "environment"
		}
		fmt.Fprintf(table, "%s=%s\t# source: %s\n", f.Name, f.text(), source)
	}
	if err := table.Flush(); err != nil {
		return fmt.Errorf("print settings: %w", err)
	}
	return nil
}

// Markdown returns the list of all settings.
func Markdown() string {
	var list strings.Builder
	group := ""
	for _, s := range Settings() {
		if s.Group != group {
			if group != "" {
				list.WriteString("\n")
			}
			group = s.Group
			fmt.Fprintf(&list, "**%s**\n\n", group)
		}
		form := s.Unit
		if s.Default != "" {
			form = "`" + s.Default + "`, " + form
		}
		if s.Secret {
			form += ", secret"
		}
		fmt.Fprintf(&list, "- `%s` (%s): %s\n", s.Name, form, s.Doc)
	}
	return list.String()
}

// UpdateTable returns a document with a table between the markers of its name, each of which must occur once.
func UpdateTable(document, name, table string) (string, error) {
	begin, end := "<!-- "+name+":begin -->", "<!-- "+name+":end -->"
	before, rest, begun := strings.Cut(document, begin)
	old, after, ended := strings.Cut(rest, end)
	around := before + old + after
	if !begun || !ended || strings.Contains(around, begin) || strings.Contains(around, end) {
		return "", fmt.Errorf("update the table of %s: want %s once, then %s once", name, begin, end)
	}
	return before + begin + "\n\n" + table + "\n" + end + after, nil
}
