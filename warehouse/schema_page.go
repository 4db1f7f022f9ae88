package warehouse

import (
	"bytes"
	"fmt"
	"regexp"
)

// schemaIntro is the beginning of docs/schema.md.
const schemaIntro = `# Schema

The views that analysts read, with the names and numbers of the API; [analysts.md](analysts.md) shows how to ask. Made by ` + "`make docs`" + ` from
the comments in the database, which ` + "`DESCRIBE ballots`" + ` shows too.

No view needs ` + "`FINAL`" + `, counts a replaced cast, or shows withdrawn or uncommitted records. Join by
` + "`proposal_key`, `dao_id` and `voter_identity`" + `. ` + "`Decimal(76, 18)`" + ` keeps sums exact.
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
	var views bytes.Buffer
	for _, s := range statements {
		view := viewStatement.FindStringSubmatch(s.text)
		if view == nil {
			continue
		}
		name, columns, comment := view[1], view[2], view[3]
		fmt.Fprintf(&views, "\n## %s\n\n%s\n\n", name, comment)
		for _, column := range viewColumn.FindAllStringSubmatch(columns, -1) {
			fmt.Fprintf(&views, "- `%s` `%s`: %s\n", column[1], column[2], column[3])
		}
	}
	return []byte(schemaIntro + views.String()), nil
}
