package warehouse

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
)

// schemaIntro is the beginning of docs/schema.md.
const schemaIntro = `# Schema

The views that analysts read, made of warehouse/views by ` + "`make docs`" + `. The database has the same text as comments:
` + "`DESCRIBE ballots`" + ` shows it. [ANALYSTS.md](../ANALYSTS.md) shows how to ask.

Names and numbers are those of the API. No view needs ` + "`FINAL`" + `, counts a cast that was replaced, has what upstream has
taken back (the tables behind the views keep it, marked ` + "`withdrawn`" + `), or has records of an import that are not committed. Rows
of different views belong together by ` + "`proposal_key`, `dao_id` and `voter_identity`" + `. Voting
power is ` + "`Decimal(76, 18)`" + `: sums stay exact as long as they stay decimals.
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
	var toc, views bytes.Buffer
	for _, s := range statements {
		view := viewStatement.FindStringSubmatch(s.text)
		if view == nil {
			continue
		}
		name, columns, comment := view[1], view[2], view[3]
		summary, _, _ := strings.Cut(comment, ". ")
		fmt.Fprintf(&toc, "| [`%s`](#%s) | %s |\n", name, name, strings.TrimSuffix(summary, "."))
		fmt.Fprintf(&views, "\n## %s\n\n%s\n\n| column | type | |\n|---|---|---|\n", name, comment)
		for _, column := range viewColumn.FindAllStringSubmatch(columns, -1) {
			fmt.Fprintf(&views, "| `%s` | `%s` | %s |\n", column[1], column[2], column[3])
		}
	}
	return []byte(schemaIntro + "\n| view | |\n|---|---|\n" + toc.String() + views.String()), nil
}
