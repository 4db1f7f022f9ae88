package cmd

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pnyx/governance"
	"pnyx/warehouse"
)

func TestTheStateOfASourceIsTheWorstOfItsLanes(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	lane := func(upstream, source, name string, state warehouse.FollowState) warehouse.FollowCursor {
		return warehouse.FollowCursor{Upstream: upstream, Provider: governance.Snapshot, SourceID: source, Lane: name, State: state}
	}
	log := lane("hub", "", "log", warehouse.FollowLive)
	log.UpstreamAt, log.Position = &at, `{"mci":7}`
	past := lane("hub", "a.eth", "backfill", warehouse.FollowBackfilling)
	past.Done, past.Total, past.Gaps = 1, 4, 2
	failing := lane("hub", "b.eth", "backfill", warehouse.FollowFailing)
	failing.Failures, failing.Error = 3, "status 500"
	cursors := []warehouse.FollowCursor{
		lane("forum", "", "posts", warehouse.FollowLimited), log, past, failing,
		lane("hub", "c.eth", "backfill", warehouse.FollowOff),
	}
	type row struct {
		upstream, source, position, past, failure, lag string
		state                                          warehouse.FollowState
		gaps                                           uint64
	}
	var got []row
	for _, s := range statuses(cursors) {
		got = append(got, row{s.upstream, s.source.ID, s.position, s.past(), s.failure, s.lag(at.Add(time.Minute)), s.state, s.gaps})
	}
	want := []row{
		{"forum", "", "", "", "", "", warehouse.FollowLimited, 0},
		{"hub", "a.eth", `{"mci":7}`, "25.0 %", "", "1m0s", warehouse.FollowBackfilling, 2},
		{"hub", "b.eth", `{"mci":7}`, "", "backfill: status 500", "1m0s", warehouse.FollowFailing, 0},
		{"hub", "c.eth", "", "", "", "", warehouse.FollowOff, 0},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(row{})); diff != "" {
		t.Error(diff)
	}
	sums := backfills(cursors)
	if got := sums["hub"].String(); len(sums) != 1 || got != "25.0 %" {
		t.Errorf("got backfills %v, want that of the hub at 25.0 %%", sums)
	}
}
