package histories

import (
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"pnyx/test/env"
)

// test/results/histories.md is what the kept results say: make test-histories renews it.
func TestTheReportIsMadeOfTheResults(t *testing.T) {
	results := env.Must(ReadResults("results.ndjson"))(t)
	const path = "../../test/results/histories.md"
	want := Report(results)
	if os.Getenv("PNYX_TEST_UPDATE") != "" {
		env.MustDo(t, os.WriteFile(path, []byte(want), 0o600))
	}
	got, err := os.ReadFile(path)
	if err != nil || string(got) != want {
		t.Errorf("got %s (%v), want %s", got, err, want)
	}
}

func TestResultsAddUpInTheReport(t *testing.T) {
	h := History{
		when(0, 90_000, Operation{Kind: Request}), when(1, 2, Operation{Kind: Fault, Subject: "a kill"}),
		when(3, 4, Operation{Kind: Fault, Subject: CountsByItself}),
	}
	good, bad := ResultOf(h, nil), ResultOf(h, []Violation{{"quota", "one | too many"}, {"etags", "another"}})
	good.Kind, bad.Kind, bad.Seed, bad.Build = "a pair", "a pair", 7, "v1"
	path := filepath.Join(t.TempDir(), "results.ndjson")
	for _, r := range []Result{good, bad} {
		env.MustDo(t, r.Append(path))
	}
	good.Date = time.Now().UTC().Format(time.DateOnly)
	bad.Date = good.Date
	results, err := ReadResults(path)
	if err != nil || !reflect.DeepEqual(results, []Result{good, bad}) {
		t.Fatalf("got %+v (%v), want %+v", results, err, []Result{good, bad})
	}
	report := Report(results)
	for _, want := range []string{
		"2 histories, 0.1 hours, 6 operations, 2 faults", "| a pair | 2 | 3.0 | 6 | 2 | 1 |\n", "| a kill | 2 |\n",
		`| quota: one \| too many (and 1 more) | 7 | v1 | a pair | open |`, "From " + good.Date,
	} {
		env.WantPart(t, want, report, "in it")
	}
	env.WantPart(t, "No model has found a violation.", Report([]Result{good}), "no violation")
}
