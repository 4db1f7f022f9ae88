package cmd

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jedib0t/go-pretty/v6/table"

	"pnyx/governance"
	"pnyx/warehouse/record"
	"pnyx/warehouse/records"
)

func TestEachFollowedSourceHasARow(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	minuteAgo := governance.TimestampOf(now.Add(-time.Minute))
	space := func(id string) record.SourceRef { return record.SourceRef{Provider: governance.Snapshot, ID: id} }
	const manyWords = "log: ask hub.snapshot.org for messages: hub.snapshot.org fails and is asked again at 2026-03-04T05:06:37Z: the cause"
	catalog := records.Catalog{
		Owner: map[record.SourceRef]string{space("a.eth"): "harbor", space("b.eth"): "agora", space("c.eth"): "agora", space("d.eth"): "quay"},
		Sources: map[record.SourceRef]records.CatalogSource{
			space("a.eth"): {Follow: &records.SourceFollow{
				Status: governance.SourceStatus{
					State: governance.SourceBackfilling, Rejected: 3, ReadThroughAt: &minuteAgo, Backfill: &governance.BackfillProgress{Done: 1, Total: 4},
				},
				Position: `{"mci":7,"hash":"0xab"}`, LatestReject: "0xab: its space is not followed",
			}},
			space("b.eth"): {Follow: &records.SourceFollow{
				Status: governance.SourceStatus{State: governance.SourceFailing, Gaps: 2}, Complete: true, Error: manyWords,
			}},
			space("c.eth"): {}, // from files alone
			space("d.eth"): {Follow: &records.SourceFollow{
				Status: governance.SourceStatus{State: governance.SourceLive, Rejected: 1}, Complete: true, Lacks: "1 logs of events that are not known: 0xab", LatestReject: "0xab",
			}},
		},
	}
	want := []table.Row{
		{"agora", "b.eth", governance.SourceFailing, "", "", "100.0 %", uint64(2), uint64(0), manyWords},
		{"harbor", "a.eth", governance.SourceBackfilling, "1m0s", "mci 7", "25.0 %", uint64(0), uint64(3), "0xab: its space is not followed"},
		{"quay", "d.eth", governance.SourceLive, "", "", "100.0 %", uint64(0), uint64(1), "1 logs of events that are not known: 0xab"},
	}
	if diff := cmp.Diff(want, statusRows(catalog, now)); diff != "" {
		t.Error(diff)
	}
}

func TestBackfillsAreSummedByUpstream(t *testing.T) {
	t.Parallel()
	sums := backfills([]records.FollowCursor{
		{Upstream: "hub", SourceID: "a.eth", State: governance.SourceBackfilling, Done: 1, Total: 4},
		{Upstream: "hub", SourceID: "b.eth", State: governance.SourceFailing},
		{Upstream: "forum", State: governance.SourceLive},
	})
	if got := sums["hub"].String(); len(sums) != 1 || got != "25.0 %" {
		t.Errorf("got backfills %v, want the hub's at 25.0 %%", sums)
	}
}
