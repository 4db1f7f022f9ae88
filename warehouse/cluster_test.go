package warehouse_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/shopspring/decimal"

	"pnyx/governance"
	"pnyx/governance/query"
	"pnyx/test/env"
	"pnyx/warehouse"
	"pnyx/warehouse/counts"
	"pnyx/warehouse/engine"
	"pnyx/warehouse/pages"
	"pnyx/warehouse/record"
	"pnyx/warehouse/records"
)

// TestTwoShards runs every test of a cluster on the same two shards, and but for a migration in the same
// database, which is emptied between them: starting engines and migrating takes longer than the tests.
func TestTwoShards(t *testing.T) {
	t.Parallel()
	shards := env.EngineShards(t)
	in := func(database string) (options [2]warehouse.Options) {
		for i, shard := range shards {
			options[i] = warehouse.Options{URL: shard.Instance().URL(database), Cluster: engine.ClusterName}
		}
		return options
	}
	t.Run("keep every row in a migration", func(t *testing.T) {
		t.Parallel()
		checkMigration(t, in("migrated")[0])
	})
	shared := in("shared")
	t.Run("answer like one server", func(t *testing.T) { shardsAnswer(t, shared) })
	emptyShards(t, shared)
	t.Run("list proposals like one server", func(t *testing.T) { shardsListProposals(t, shared) })
	emptyShards(t, shared)
	t.Run("show the same views", func(t *testing.T) { shardsShowViews(t, shared) })
	emptyShards(t, shared)
	t.Run("rank delegates like one server", func(t *testing.T) { rankingIsAPlainCount(t, openAt(t, shared[0]), 1) })
	emptyShards(t, shared)
	t.Run("derive the feed like one server", func(t *testing.T) {
		sharded := openAt(t, shared[0])
		laterVotesHaveAnotherTurnout(t, sharded)
		rowsThatAppearBecomeVisible(t, sharded)
	})
}

func emptyShards(t *testing.T, shards [2]warehouse.Options) {
	t.Helper()
	for _, shard := range shards {
		conn := raw(t, shard.URL)
		for _, table := range env.Column(t, conn, `SELECT name FROM system.tables WHERE database = currentDatabase()
			AND endsWith(engine, 'MergeTree') AND total_rows > 0 AND NOT startsWith(name, 'schema_migrations')`) {
			mustExec(t, conn, "TRUNCATE TABLE "+table+" SYNC")
		}
	}
}

func shardsAnswer(t *testing.T, shards [2]warehouse.Options) {
	t.Helper()
	sharded := openAt(t, shards[0])
	single := open(t)

	var all []record.Record
	var refs []record.RefHash
	for p := range 20 {
		id := fmt.Sprintf("proposal-%d", p)
		refs = append(refs, ref(id).Hash())
		for v := range 30 {
			all = append(all, ballot(id, fmt.Sprintf("0x%d", v), fmt.Sprintf("v%d", v), "1", fmt.Sprintf("%d.%d", v, p), nil))
		}
		all = append(all, ballot(id, "0x0", "z-recast", "2", "7", nil))
	}
	for _, w := range []*warehouse.Warehouse{sharded, single} {
		if got := appendAll(t, w, all...); got.New != uint64(len(all)) {
			t.Fatalf("got %+v, want %d new", got, len(all))
		}
		if got := appendAll(t, w, all...); got.Unchanged != uint64(len(all)) {
			t.Fatalf("the second time: got %+v, want %d unchanged", got, len(all))
		}
	}
	want := env.Must(counts.VoteTotalsOf(t.Context(), single, refs))(t)
	// Whichever shard is asked.
	for _, shard := range shards {
		w := openAt(t, shard)
		got := env.Must(counts.VoteTotalsOf(t.Context(), w, refs))(t)
		for _, hash := range refs {
			if got[hash].Votes != 30 || !got[hash].Power.Equal(want[hash].Power) {
				t.Errorf("got %d votes of %s, want 30 of %s", got[hash].Votes, got[hash].Power, want[hash].Power)
			}
			if !got[hash].Recast {
				t.Error("a recast was not seen")
			}
		}
		stored, err := counts.StoredVoteTotals(t.Context(), w, refs)
		if diff := cmp.Diff(got, stored); err != nil || diff != "" {
			t.Errorf("stored totals (%v) (-want +got):\n%s", err, diff)
		}
		firstPageAgrees(t, w, single, refs[7])
		waiting, err := records.WaitingBallots(t.Context(), w)
		if err != nil || waiting != uint64(len(all)) {
			t.Errorf("got %d waiting ballots (%v), want %d", waiting, err, len(all))
		}
	}
	for i, shard := range shards {
		var rows uint64
		env.MustDo(t, raw(t, shard.URL).QueryRow(t.Context(), "SELECT count() FROM ballots_local").Scan(&rows))
		if rows == 0 || rows == uint64(len(all)) {
			t.Errorf("shard %d holds %d of %d ballots, want a part", i, rows, len(all))
		}
	}
	participationAgrees(t, sharded)
	sumsAgree(t, sharded)
	sumsAgree(t, single)
	topicsAgree(t, sharded)
	counterpartsAreFound(t, sharded)
}

// firstPageAgrees checks that a page is the same from one server and from many.
func firstPageAgrees(t *testing.T, sharded, single *warehouse.Warehouse, hash record.RefHash) {
	t.Helper()
	var found [2][]pages.LatestBallot
	for i, w := range []*warehouse.Warehouse{sharded, single} {
		found[i] = env.Must(pages.ListBallots(t.Context(), w, pages.BallotSource{Ref: hash}, firstBallots(query.BallotsByPower, 5)))(t)
	}
	same := func(a, b pages.LatestBallot) bool { return a.VoteID == b.VoteID && a.VotingPower == b.VotingPower }
	if len(found[0]) != 5 || !slices.EqualFunc(found[0], found[1], same) {
		t.Errorf("got %+v from shards, want %+v", found[0], found[1])
	}
}

// counterpartsAreFound checks that proposals find each other across shards, and
// that an analysis is found whichever shard it is on.
func counterpartsAreFound(t *testing.T, w *warehouse.Warehouse) {
	t.Helper()
	for n := range 8 {
		id := fmt.Sprintf("0x%d", n)
		offChain := &record.Proposal{ProposalRef: ref(id), SourceID: "dao.eth"}
		onChain := &record.Proposal{
			ProposalRef: record.ProposalRef{Provider: governance.Tally, ExternalID: id}, SourceID: "dao",
			SnapshotURL: "https://snapshot.org/#/dao.eth/proposal/" + id,
		}
		appendAll(t, w, offChain, onChain)
		appendAll(t, w, &record.Evidence{Proposal: onChain.ProposalRef, Dossier: "{}"})
		got, err := counts.Counterparts(t.Context(), w, []record.RefHash{offChain.Hash()})
		if err != nil || len(got[offChain.Hash()]) != 1 || got[offChain.Hash()][0] != onChain.Hash() {
			t.Errorf("%s: got counterparts %v (%v), want the one on chain", id, got, err)
		}
		found, err := records.Evidence(t.Context(), w, []record.ProposalRef{onChain.ProposalRef, offChain.ProposalRef})
		if err != nil || len(found) != 1 || found[onChain.ProposalRef].Dossier != "{}" {
			t.Errorf("%s: got evidence %v (%v), want the one", id, found, err)
		}
	}
}

// participationAgrees checks a query that joins two sharded tables.
func participationAgrees(t *testing.T, w *warehouse.Warehouse) {
	t.Helper()
	var states []counts.ProposalState
	for p := range 20 {
		states = append(states, counts.ProposalState{
			Ref: ref(fmt.Sprintf("proposal-%d", p)).Hash(), Votes: 30, Power: decimal.Zero, Revision: 1,
		})
		states[p].Identity.DAOID = "dao"
	}
	writeStates(t, w, states...)
	checkParticipation(t, w, counts.Participation{UniqueVoters: 30, Votes: 600})
}

// sumsAgree checks that some DAOs are summed up as all are, while a proposal moves from
// one to another and back.
func sumsAgree(t *testing.T, w *warehouse.Warehouse) {
	t.Helper()
	daos := []string{"one", "other"}
	for revision, at := range []int{0, 1, 0} {
		moving := counts.ProposalState{Ref: ref("moving").Hash(), Votes: 7, Power: decimal.Zero, Revision: uint64(revision) + 2}
		staying := counts.ProposalState{Ref: ref("staying").Hash(), Votes: 1, Power: decimal.Zero, Revision: uint64(revision) + 2}
		moving.Identity.DAOID, staying.Identity.DAOID = daos[at], daos[1]
		writeStates(t, w, moving, staying)
		all := env.Must(counts.AllDAOTotals(t.Context(), w))(t)
		some := env.Must(counts.DAOTotalsOf(t.Context(), w, daos))(t)
		for i, id := range daos {
			want := uint64(i)
			if i == at {
				want += 7
			}
			if some[id].Votes != want || some[id].Counts != all[id].Counts || all[id].Votes != want {
				t.Errorf("the proposal in %s: got %d votes of %s, of all %d, want %d", daos[at], some[id].Votes, id, all[id].Votes, want)
			}
		}
	}
}
