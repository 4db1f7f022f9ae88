package publish

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"pnyx/cache"
	"pnyx/governance"
	"pnyx/test/env"
	"pnyx/warehouse/counts"
	"pnyx/warehouse/record"
	"pnyx/warehouse/records"
)

// checkDAOs compares the participation that is counted by ranges, and the one that is
// published, with a count of all ballots. It returns how many DAOs are counted by ranges.
func (e *electorate) checkDAOs() (ranged int) {
	e.t.Helper()
	catalog := env.Must(records.ReadCatalog(e.t.Context(), e.publisher.Warehouse))(e.t)
	ids := slices.Sorted(maps.Keys(catalog.DAOs))
	whole := env.Must(counts.ParticipationOf(e.t.Context(), e.publisher.Warehouse, ids))(e.t)
	found, byRange, err := e.publisher.voters.of(e.t.Context(), e.publisher.Warehouse, ids)
	if err != nil {
		e.t.Fatal(err)
	}
	for _, id := range ids {
		if found[id] != whole[id] {
			e.t.Fatalf("DAO %s: got %+v, by ranges: %t, want %+v", id, found[id], byRange[id], whole[id])
		}
		view := env.Must(e.publisher.Store.View(e.t.Context(), cache.DAODetailKey(id)))(e.t)
		var detail governance.DAODetail
		env.MustDo(e.t, view.Decode(&detail))
		want := governance.Participation{
			UniqueVoters: governance.CountOf(whole[id].UniqueVoters), TotalVotes: governance.CountOf(whole[id].Votes),
			TotalVotingPower: detail.Participation.TotalVotingPower,
		}
		if detail.Participation != want {
			e.t.Fatalf("DAO %s: got %+v published, want %+v", id, detail.Participation, want)
		}
	}
	return len(byRange)
}

// A sum that changes without a batch stands for any fault by which ranges miss a voter.
func TestRecountReplacesWrongParticipation(t *testing.T) {
	t.Parallel()
	e := newElectorate(t, 1)
	e.publisher.recountOverlap = -1 // only open batches are pending
	e.append([]record.Record{castOn(e.proposals[0], "0xa", "a", 1)})
	e.append([]record.Record{castOn(e.proposals[0], "0xb", "b", 1)})
	e.step()
	e.recountAll()
	id := "space-0"
	sums, _ := e.publisher.voters.staleOf(id)
	if sums == nil {
		t.Fatal("the DAO is not counted by ranges")
	}
	for i := range sums.sums {
		sums.sums[i].UniqueVoters++
	}
	e.publisher.voters.subjects[id].changed = true
	e.recountAll()
	env.Want(t, 1, testutil.ToFloat64(e.publisher.metrics.recountDifferences), "recounts that differ")
	if !e.publisher.corrections.arePending() {
		t.Error("got nothing to publish again, want the DAO")
	}
	e.step()
	if ranged := e.checkDAOs(); ranged == 0 {
		t.Error("got no DAO counted by ranges after the recount, want one")
	}
}

// Proposals come to a DAO that is counted by ranges, with votes and without, and leave it.
func TestRangedParticipationFollowsProposals(t *testing.T) {
	t.Parallel()
	e := newElectorate(t, 1)
	votes := 0
	vote := func(proposal string, voters ...string) {
		var records []record.Record
		for _, voter := range voters {
			votes++
			ref := record.ProposalRef{Provider: governance.Snapshot, ExternalID: proposal}
			records = append(records, castOn(ref, voter, fmt.Sprint("v", votes), 1))
		}
		e.append(records)
	}
	vote("p0", "0xa", "0xb", "0xc")
	vote("p1", "0xb")
	e.step()
	for _, change := range []struct {
		name string
		do   func()
		// ranged says whether space-0 is still counted by ranges.
		ranged bool
	}{
		{"a vote of somebody else", func() { vote("p0", "0xd") }, true},
		{"a vote again", func() { vote("p0", "0xd") }, true},
		{"a new proposal without votes", func() { e.propose("new", "space-0", false) }, true},
		{"votes on it", func() { vote("new", "0xa", "0xe") }, true},
		{"votes without a proposal", func() { vote("late", "0xb", "0xf") }, true},
		{"their proposal", func() { e.propose("late", "space-0", false) }, false},
		{"a withdrawn proposal", func() { e.propose("new", "space-0", true) }, false},
		{"a vote on it", func() { vote("new", "0xg") }, true},
		{"the proposal again", func() { e.propose("new", "space-0", false) }, false},
		{"a proposal of another space", func() { e.propose("late", "space-1", false) }, false},
		{"a vote on that", func() { vote("late", "0xh") }, true},
		{"a DAO of both spaces", func() {
			e.append([]record.Record{&record.DAO{ID: "space-0", Name: "both", Sources: []record.SourceRef{
				{Provider: governance.Snapshot, ID: "space-0"}, {Provider: governance.Snapshot, ID: "space-1"},
			}}})
		}, false},
		{"a vote on any", func() { vote("p1", "0xi", "0xa") }, true},
	} {
		e.recountAll()
		if !e.publisher.voters.has("space-0") {
			t.Fatalf("before %s: the DAO is not counted by ranges", change.name)
		}
		change.do()
		e.step()
		env.Want(t, change.ranged, e.publisher.voters.has("space-0"), change.name, "counted by ranges")
		e.checkDAOs()
	}
	env.Want(t, 0, testutil.ToFloat64(e.publisher.metrics.recountDifferences), "recounts that differ")
}

func TestProposalsAndDAOsAreRecountedInTurns(t *testing.T) {
	t.Parallel()
	e := newElectorate(t, 2)
	for range 40 {
		e.append([]record.Record{e.ballot(), e.ballot()})
	}
	e.step()
	for range 2 {
		if found, err := e.publisher.recountNext(t.Context(), time.Now()); err != nil || !found {
			t.Fatalf("got %t, %v, want a recount", found, err)
		}
	}
	proposals := 0
	for _, proposal := range e.proposals {
		if e.publisher.totals.has(proposal.Hash()) {
			proposals++
		}
	}
	if daos := e.publisher.voters.has("space-0") != e.publisher.voters.has("space-1"); proposals != 1 || !daos {
		t.Errorf("got %d proposals and one DAO: %t after two recounts, want one of each", proposals, daos)
	}
}
