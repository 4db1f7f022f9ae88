package worker_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"pnyx/cache"
	"pnyx/governance"
	"pnyx/test/env"
	"pnyx/warehouse/record"
	"pnyx/warehouse/records"
)

func (h *harness) awaitStatus(daoID string, want governance.DataStatus) {
	h.t.Helper()
	waitFor(h, cache.DataStatusKey(daoID), func(got governance.DataStatus) bool { return cmp.Equal(want, got) })
}

// follow writes how following a space goes: its past, of which so many of 40 are read, and the log.
func (h *harness) follow(source record.SourceRef, backfill governance.SourceState, done uint64, at time.Time) {
	h.t.Helper()
	space := records.FollowCursor{Upstream: "hub", Provider: source.Provider, SourceID: source.ID, State: governance.SourceLive}
	past := space
	past.Poller, past.State, past.Done, past.Total = records.FollowBackfill, backfill, done, 40
	polls := records.FollowCursor{Upstream: "hub", Poller: "log", State: governance.SourceLive, UpstreamAt: &at, SucceededAt: &at}
	env.MustDo(h.t, records.WriteFollowCursors(h.t.Context(), h.warehouse, []records.FollowCursor{space, past, polls}))
}

func TestDataStatusTellsHowFollowingGoes(t *testing.T) {
	t.Parallel()

	h := newHarness(t)
	source := record.SourceRef{Provider: governance.Snapshot, ID: "harbor.eth"}
	h.append(&record.Source{SourceRef: source, Name: "Harbor"}, &record.DAO{ID: "other", Name: "Other"})
	at := time.Now().UTC().Truncate(time.Millisecond)
	reason := func(state governance.SourceState) *string { return state.Reason(false) }
	stamp := governance.TimestampOf(at)
	daoID := source.ID
	status := governance.SourceStatus{
		Provider: source.Provider, ID: source.ID, Mode: governance.ModeFollowed,
		SourceType: source.Provider, SourceID: source.ID, State: governance.SourceBackfilling,
		Reason: reason(governance.SourceBackfilling), ReadThroughAt: &stamp, LastSuccessAt: &stamp,
		Backfill: &governance.BackfillProgress{Done: 10, Total: 40},
	}
	want := governance.DataStatus{
		Scope: governance.ScopeDAO, DAOID: &daoID, CoverageStatus: governance.Backfilling,
		VoteCoverageStatus: governance.VotesUnavailable, Sources: []governance.SourceStatus{status},
	}
	h.follow(source, governance.SourceBackfilling, 10, at)
	h.startLeader(prometheus.NewRegistry())
	h.awaitStatus(daoID, want)

	status.Backfill = &governance.BackfillProgress{Done: 30, Total: 40}
	want.Sources = []governance.SourceStatus{status}
	h.follow(source, governance.SourceBackfilling, 30, at)
	h.awaitStatus(daoID, want)

	status.Backfill, status.State, status.Reason = nil, governance.SourceLive, nil
	want.Sources, want.CoverageStatus = []governance.SourceStatus{status}, governance.Complete
	want.LatestSuccessfulSync.GovernanceAt = &stamp
	h.follow(source, governance.SourceLive, 40, at)
	h.awaitStatus(daoID, want)
	h.awaitStatus("", governance.DataStatus{
		Scope: governance.ScopeGlobal, LatestSuccessfulSync: want.LatestSuccessfulSync,
		CoverageStatus: governance.Partial, VoteCoverageStatus: governance.VotesUnavailable,
		SourceCounts: []governance.SourceCount{{State: governance.SourceLive, Sources: 1}},
	})

	status.State, status.Reason = governance.SourceFailing, reason(governance.SourceFailing)
	want.Sources = []governance.SourceStatus{status}
	retry := at.Add(time.Minute)
	polls := records.FollowCursor{
		Upstream: "hub", Poller: "log", State: governance.SourceFailing, UpstreamAt: &at, SucceededAt: &at, FailedAt: &at,
		Failures: 4, Error: "status 502", RetryAt: &retry,
	}
	next := governance.TimestampOf(retry)
	want.Sources[0].NextAttemptAt = &next
	env.MustDo(t, records.WriteFollowCursors(t.Context(), h.warehouse, []records.FollowCursor{polls}))
	h.awaitStatus(daoID, want)
	id := "other"
	h.awaitStatus(id, governance.DataStatus{
		Scope: governance.ScopeDAO, DAOID: &id, CoverageStatus: governance.CoverageUnavailable,
		VoteCoverageStatus: governance.VotesUnavailable,
	})
}

// TestPublicationOfOneDAOLeavesNoOtherBehind changes a source just before another DAO is published.
func TestPublicationOfOneDAOLeavesNoOtherBehind(t *testing.T) {
	t.Parallel()

	h := newHarness(t)
	quiet := record.SourceRef{Provider: governance.Snapshot, ID: "harbor.eth"}
	busy := record.SourceRef{Provider: governance.Snapshot, ID: "orchard.eth"}
	h.append(&record.Source{SourceRef: quiet, Name: "Harbor"}, &record.Source{SourceRef: busy, Name: "Orchard"})
	at := time.Now().UTC().Truncate(time.Millisecond)
	await := func(want governance.Coverage, done uint64) {
		t.Helper()
		waitFor(h, cache.DataStatusKey(quiet.ID), func(s governance.DataStatus) bool {
			row, err := h.store.DAORow(t.Context(), quiet.ID)
			return s.CoverageStatus == want && (s.Sources[0].Backfill == nil || s.Sources[0].Backfill.Done == done) && err == nil && row.CoverageStatus == want
		})
	}
	h.follow(quiet, governance.SourceBackfilling, 10, at)
	h.startLeader(prometheus.NewRegistry())
	await(governance.Backfilling, 10)
	// A check of sources has just seen this, and the next one is seconds away.
	h.follow(quiet, governance.SourceBackfilling, 20, at)
	await(governance.Backfilling, 20)

	// Several publications of the other DAO, so that one of them reads the new state.
	h.follow(quiet, governance.SourceLive, 40, at)
	for name := range 5 {
		h.append(&record.Source{SourceRef: busy, Name: fmt.Sprint("Orchard ", name)})
	}
	await(governance.Complete, 40)
}

// TestNewestRecordsAreThoseOfThisPublication imports a vote: what shows it states its time.
func TestNewestRecordsAreThoseOfThisPublication(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	first, second := dated("first", 10), dated("second", 10)
	second.SourceID = "other.eth"
	h.keep(&record.DAO{ID: "dao", Name: "DAO", Sources: []record.SourceRef{
		{Provider: governance.Snapshot, ID: "dao.eth"}, {Provider: governance.Snapshot, ID: "other.eth"},
	}}, first, second)
	h.settle("")
	cast := governance.TimestampOf(observed.Add(-time.Hour))
	b := vote("second", "0x1", "3")
	b.VotedAt = &cast
	h.keep(b)
	h.settle("")
	status, _, err := read[governance.DataStatus](h, cache.DataStatusKey("dao"))
	if err != nil {
		t.Fatal(err)
	}
	for _, source := range status.Sources {
		if got := source.NewestRecordAt; source.SourceID == "other.eth" && (got == nil || *got != cast) {
			t.Errorf("got newest record %v of other.eth, want the vote's time %v", got, cast)
		}
	}
	env.Want(t, 2, len(status.Sources), "sources", status.Sources)
}
