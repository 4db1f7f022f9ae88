package fill

import (
	"bytes"
	"encoding/csv"
	"slices"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"pnyx/governance"
	"pnyx/test/check"
)

// The members of an embedded struct are members of the row in JSON, and in each table, too.
func TestTablesHaveTheMembersOfLines(t *testing.T) {
	t.Parallel()
	const title = "a\nb\r\nc\rd, \"e\""
	row := governance.DAOExportRow{Kind: governance.TopicRows, Topic: &governance.ForumTopicDetail{ForumTopic: governance.ForumTopic{Title: title, Tags: []string{"R&D"}}}}
	written := func(format governance.ExportFormat) []byte {
		var text bytes.Buffer
		rows := newRowWriter[governance.DAOExportRow](&text, format)
		check.MustDo(t, rows.write(row))
		check.MustDo(t, rows.flush())
		return text.Bytes()
	}
	values := string(written(governance.ExportCSV))
	header, _, _ := strings.Cut(values, "\n")
	names := check.Must(csv.NewReader(strings.NewReader(header)).Read())(t)
	if !slices.Contains(names, "topic.title") || !strings.Contains(values, strings.ReplaceAll(title, `"`, `""`)) || !strings.Contains(values, "R&D") {
		t.Errorf("got the columns %q and %q, want topic.title with %q, and R&D", names, values, title)
	}
	table := bytes.NewReader(written(governance.ExportParquet))
	file := check.Must(parquet.OpenFile(table, table.Size()))(t)
	if column, found := file.Schema().Lookup("topic", "title"); !found || !column.Node.Leaf() {
		t.Errorf("got the columns %q, want topic.title", file.Schema().Columns())
	}
}
