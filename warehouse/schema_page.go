package warehouse

import (
	"bytes"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// schemaIntro is the beginning of docs/schema.md.
const schemaIntro = `# Schema

The views that analysts read, with the names and numbers of the API; [analysts.md](analysts.md) shows how to ask. Made by ` + "`make docs`" + ` from
the comments in the database, which ` + "`DESCRIBE ballots`" + ` shows too.

No view needs ` + "`FINAL`" + `, counts a replaced cast, or shows withdrawn or uncommitted records. Join by
` + "`proposal_key`, `dao_id` and `voter_identity`" + `. ` + "`Decimal(76, 18)`" + ` keeps sums exact.

## Columns of several views

`

var (
	// viewStatement matches the statement of a view: its name, columns and comment.
	viewStatement = regexp.MustCompile(`(?s)^CREATE OR REPLACE VIEW \$views\.(\w+)\n\((.*?)\n\)\n[^\n]*SQL SECURITY \w+\nCOMMENT '([^']*)'\nAS`)
	// viewColumn matches a column of a view: its name, type and comment.
	viewColumn = regexp.MustCompile(`(?m)^    (\w+) (.+) COMMENT '([^']*)',?$`)
)

// SchemaPage returns docs/schema.md, which describes the views from their own comments.
func SchemaPage() ([]byte, error) {
	statements, err := migrations(migrationFiles)
	if err != nil {
		return nil, err
	}
	var views [][]string
	times, shared := map[string]int{}, map[string]string{} // of the lines of columns; a line for each name
	for _, s := range statements {
		view := viewStatement.FindStringSubmatch(s.text)
		if view == nil {
			continue
		}
		views = append(views, view)
		for _, column := range viewColumn.FindAllStringSubmatch(view[2], -1) {
			line := columnLine(column)
			times[line]++
			if times[line] > max(1, times[shared[column[1]]]) {
				shared[column[1]] = line
			}
		}
	}
	var page bytes.Buffer
	page.WriteString(schemaIntro)
	for _, name := range slices.Sorted(maps.Keys(shared)) {
		page.WriteString(shared[name])
	}
	for _, view := range views {
		writeView(&page, view, shared)
	}
	return page.Bytes(), nil
}

// columnLine describes a column in a list.
func columnLine(column []string) string {
	return fmt.Sprintf("- `%s` `%s`: %s\n", column[1], column[2], column[3])
}

// writeView describes a view: its columns that several views have by their names alone.
func writeView(page *bytes.Buffer, view []string, shared map[string]string) {
	fmt.Fprintf(page, "\n## %s\n\n%s\n\n", view[1], view[3])
	var common []string
	var own strings.Builder
	for _, column := range viewColumn.FindAllStringSubmatch(view[2], -1) {
		if line := columnLine(column); line == shared[column[1]] {
			common = append(common, "`"+column[1]+"`")
		} else {
			own.WriteString(line)
		}
	}
	if common != nil {
		fmt.Fprintf(page, "- %s: [above](#columns-of-several-views)\n", strings.Join(common, ", "))
	}
	page.WriteString(own.String())
}
