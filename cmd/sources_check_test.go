package cmd

import (
	"context"
	"strings"
	"testing"
	"time"

	"pnyx/follow"
	"pnyx/warehouse/record"
)

// checked is an upstream that is asked what its sources are, and nothing else.
type checked []follow.Check

func (c checked) ID() string                              { return "checked" }
func (c checked) Sources() []record.SourceRef             { return nil }
func (c checked) Pollers(*follow.Journal) []follow.Poller { return nil }
func (c checked) Check(context.Context) []follow.Check    { return c }

func TestAttackASourcesFileReadsNoSettings(t *testing.T) {
	for name, want := range map[string]string{"REDIS_URL": "", "PNYX_INTERNAL_TOKEN": "", "AWS_SECRET_ACCESS_KEY": "", "HUB_KEY": "key"} {
		t.Setenv(name, "key")
		if got, _ := lookupKey(name); got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
}

func TestCheckGroupsWhatDoesNotAnswerAndCountsTheRest(t *testing.T) {
	t.Parallel()
	silent := follow.Check{Source: "eip155:1:0xa", RequestsPerDay: 500, RequestsPerDayBusy: 500, Problem: "rpc.example.org: no route", Silent: true}
	other := silent
	other.Source = "eip155:1:0xb"
	works := follow.Check{Source: "a.eth", Is: "Snapshot space A", RequestsPerDay: 10, RequestsPerDayBusy: 20, Backfill: 90 * time.Minute}
	var out strings.Builder
	err := checkSources(t.Context(), &out, []follow.Upstream{checked{silent, other}, checked{works, works}})
	if err == nil || !strings.Contains(err.Error(), "2 of 4 have problems") {
		t.Errorf("got %v, want two problems", err)
	}
	got := out.String()
	for _, want := range []string{"eip155:1:0xa and 1 more", "about 1h30m0s", "about 3h0m0s", " 20 ", " 40 "} {
		if !strings.Contains(got, want) {
			t.Errorf("got no %q in\n%s", want, got)
		}
	}
	if strings.Contains(got, "0xb") || strings.Contains(got, "500") {
		t.Errorf("got rows alike, or requests of what does not answer, in\n%s", got)
	}
}
