package source_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"pnyx/test/env"
	"pnyx/warehouse/record"
	"pnyx/warehouse/source"
)

func TestRealDataIsReadWithoutRejections(t *testing.T) {
	t.Parallel()

	files, problems := source.Find([]string{env.RealData(t)})
	for _, problem := range problems {
		t.Errorf("problem: %v", problem)
	}
	got := map[source.Format]int{}
	for _, file := range files {
		records, err := readAll(t, file, source.Limits{})
		if err != nil {
			t.Errorf("reading %s: got %v, want no error", file.Path, err)
		}
		got[file.Format] += len(records)
		for _, read := range records {
			checkRecord(t, file, read)
		}
	}
	want := map[source.Format]int{
		"DAO":                31,
		"Snapshot space":     33,
		"Tally organization": 1,
		"Discourse category": 40,
		"Snapshot proposal":  3_595,
		"Tally proposal":     21,
		"Discourse topic":    133,
		"Snapshot vote":      163_898,
		"Tally vote":         10_835,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("records by format (-want +got):\n%s", diff)
	}
}

// checkRecord checks the invariants of every record.
func checkRecord(t *testing.T, file source.File, read record.Record) {
	t.Helper()
	if read.Kind() != file.Kind {
		t.Errorf("%s: got a record of %s, want %s", file.Path, read.Kind(), file.Kind)
	}
	if key := read.Key(); key[0] == "" { // further parts may be unused
		t.Errorf("%s: got key %q, want a first part", file.Path, key)
	}
	if ballot, ok := read.(*record.Ballot); ok {
		checkBallot(t, ballot)
	}
}
