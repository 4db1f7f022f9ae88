package cmd

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"pnyx/warehouse/importer"
	"pnyx/warehouse/record"
)

func TestReportOfAnImport(t *testing.T) {
	t.Parallel()
	counted := importer.Report{Kinds: map[record.Kind]*importer.KindReport{record.KindBallot: {Read: 3}}}
	hostile := counted
	hostile.Problems = []error{errors.New("\x1b[2J.ndjson: truncated")}
	for _, test := range []struct {
		name       string
		report     importer.Report
		complete   bool
		want, miss []string
	}{
		{"complete", counted, true, []string{"│ ballots │    3 │", "imported in"}, []string{"no records"}},
		{"stopped", counted, false, nil, []string{"│", "imported in"}},
		{"nothing found", importer.Report{}, true, []string{"no records found", ".ndjson"}, []string{"│"}},
		{"texts of strangers", hostile, true, []string{`not imported: \x1b[2J.ndjson: truncated`}, []string{"\x1b"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			printReport(&out, test.report, test.complete)
			for _, want := range test.want {
				if !strings.Contains(out.String(), want) {
					t.Errorf("got %q, want %q in it", &out, want)
				}
			}
			for _, miss := range test.miss {
				if strings.Contains(out.String(), miss) {
					t.Errorf("got %q, want no %q in it", &out, miss)
				}
			}
		})
	}
}
