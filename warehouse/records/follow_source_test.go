package records

import (
	"slices"
	"testing"
	"time"

	"pnyx/governance"
	"pnyx/test/check"
	"pnyx/warehouse/record"
)

// noon is when sources are evaluated in these tests.
var noon = time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)

// before returns the time some seconds before noon.
func before(seconds int) *time.Time {
	at := noon.Add(-time.Duration(seconds) * time.Second)
	return &at
}

// pollers returns the cursors of a followed space whose past is read and whose log was polled
// four seconds ago, as change leaves them.
func pollers(change func(poller map[string]*FollowCursor)) []FollowCursor {
	log := FollowCursor{Upstream: "hub", Poller: "log", State: governance.SourceLive, UpstreamAt: before(600), SucceededAt: before(4)}
	watch := FollowCursor{Upstream: "hub", Poller: "watch", State: governance.SourceLive, SucceededAt: before(30), Gaps: 2}
	sweep := FollowCursor{Upstream: "hub", Poller: "sweep", State: governance.SourceLive, SucceededAt: before(1), UpstreamAt: before(1)}
	source := FollowCursor{Upstream: "hub", Provider: governance.Snapshot, SourceID: "harbor.eth", Poller: FollowSource, State: governance.SourceLive}
	backfill := source
	backfill.Poller, backfill.Done, backfill.Total, backfill.Gaps = FollowBackfill, 40, 40, 1
	all := map[string]*FollowCursor{"log": &log, "watch": &watch, "sweep": &sweep, "backfill": &backfill, "source": &source}
	if change != nil {
		change(all)
	}
	return []FollowCursor{log, watch, sweep, source, backfill}
}

func TestSourceStateIsTheWorstOfItsPollers(t *testing.T) {
	t.Parallel()

	for name, c := range map[string]struct {
		change   func(poller map[string]*FollowCursor)
		want     governance.SourceState
		through  *time.Time
		complete bool
	}{
		"everything is well": {nil, governance.SourceLive, before(4), true},
		"the past is not read": {func(poller map[string]*FollowCursor) {
			poller["backfill"].State, poller["backfill"].Done = governance.SourceBackfilling, 10
		}, governance.SourceBackfilling, before(4), false},
		"the size of the past is unknown": {func(poller map[string]*FollowCursor) {
			poller["backfill"].State, poller["backfill"].Done, poller["backfill"].Total = governance.SourceBackfilling, 0, 0
		}, governance.SourceBackfilling, before(4), false},
		"no poller has read the past yet": {func(poller map[string]*FollowCursor) {
			poller["backfill"].Poller = "state"
		}, governance.SourceBackfilling, before(4), false},
		"the log fails": {func(poller map[string]*FollowCursor) {
			poller["log"].State, poller["log"].Failures = governance.SourceFailing, 9
		}, governance.SourceFailing, before(600), true},
		"upstream allows nothing while the past is read": {func(poller map[string]*FollowCursor) {
			poller["backfill"].State, poller["backfill"].Done, poller["log"].State = governance.SourceBackfilling, 10, governance.SourceLimited
		}, governance.SourceLimited, before(600), false},
		"nobody polls": {func(poller map[string]*FollowCursor) {
			for _, name := range []string{"log", "watch", "sweep"} {
				poller[name].SucceededAt = before(301)
			}
		}, governance.SourceStale, before(301), true},
		"the source is off": {func(poller map[string]*FollowCursor) {
			poller["source"].State, poller["backfill"].State = governance.SourceOff, governance.SourceOff
		}, governance.SourceOff, before(4), true},
		"one poller reads for each source and fares well": {func(poller map[string]*FollowCursor) {
			poller["log"].SourceID, poller["log"].Provider, poller["log"].SucceededAt = "harbor.eth", governance.Snapshot, nil
			poller["watch"].Poller = "log"
		}, governance.SourceLive, before(30), true},
		"one poller reads for each source and fails": {func(poller map[string]*FollowCursor) {
			poller["log"].SourceID, poller["log"].Provider, poller["log"].SucceededAt = "harbor.eth", governance.Snapshot, nil
			poller["watch"].Poller, poller["watch"].State = "log", governance.SourceFailing
		}, governance.SourceFailing, before(600), true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			source := record.SourceRef{Provider: governance.Snapshot, ID: "harbor.eth"}
			got := sourceFollows(pollers(c.change), noon)[source]
			if got.Status.State != c.want || got.Complete != c.complete {
				t.Errorf("got %s, complete %t, want %s, %t", got.Status.State, got.Complete, c.want, c.complete)
			}
			check.WantSame(t, "read through", governance.OptionalTimestamp(c.through), got.Status.ReadThroughAt)
			if (got.Status.Backfill == nil) != (c.complete || c.want == governance.SourceOff) {
				t.Errorf("got progress %+v", got.Status.Backfill)
			}
			check.Want(t, 3, got.Status.Gaps, "gaps", "the sum over the pollers, 3")
		})
	}
}

// A space was followed at another hub before, where its past was not read and a poller failed.
func TestSourceThatMovedIsEvaluatedWhereItIsFollowed(t *testing.T) {
	t.Parallel()

	source := record.SourceRef{Provider: governance.Snapshot, ID: "harbor.eth"}
	for _, former := range []string{"a former hub", "the former hub"} { // before and after "hub", in order
		left := pollers(func(poller map[string]*FollowCursor) {
			poller["backfill"].Done, poller["backfill"].Lacks = 10, "some of what it had"
			for _, c := range poller {
				c.Upstream, c.State, c.Error = former, governance.SourceOff, "gone"
			}
		})
		now := pollers(nil)
		all := append(slices.Clone(left), now...)
		if former > "hub" {
			all = append(now, left...)
		}
		check.WantSame(t, former, sourceFollows(pollers(nil), noon)[source], sourceFollows(all, noon)[source])
		check.Want(t, governance.SourceOff, sourceFollows(left, noon)[source].Status.State, "the source that is followed nowhere")
	}
}

func TestReasonNamesNothingOfTheError(t *testing.T) {
	t.Parallel()

	cursors := pollers(func(poller map[string]*FollowCursor) {
		poller["log"].State, poller["log"].Failures, poller["log"].RetryAt = governance.SourceFailing, 1, nil
		poller["log"].Error = "https://rpc.example.org/key-123: status 500"
	})
	got := sourceFollows(cursors, noon)[record.SourceRef{Provider: governance.Snapshot, ID: "harbor.eth"}].Status
	if got.Reason == nil || *got.Reason != "following has stopped until an operator decides" {
		t.Errorf("got reason %v", got.Reason)
	}
}

func TestFollowedSourceWithoutARecordIsKnown(t *testing.T) {
	t.Parallel()
	claimed, stranger := record.SourceRef{Provider: governance.Snapshot, ID: "a.eth"}, record.SourceRef{Provider: governance.Snapshot, ID: "b.eth"}
	c := Catalog{Owner: map[record.SourceRef]string{claimed: "a"}, Sources: map[record.SourceRef]CatalogSource{}}
	c.SetFollows(map[record.SourceRef]SourceFollow{claimed: {}, stranger: {}})
	if len(c.Sources) != 1 || c.Sources[claimed].Follow == nil {
		t.Errorf("got sources %v, want that which a DAO claims", c.Sources)
	}
}
