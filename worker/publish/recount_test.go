package publish

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/shopspring/decimal"

	"pnyx/cache"
	"pnyx/governance"
	"pnyx/governance/rules"
	"pnyx/test/env"
	"pnyx/warehouse/counts"
	"pnyx/warehouse/record"
	"pnyx/warehouse/records"
	"pnyx/worker/changelog"
)

func TestMain(m *testing.M) { env.Main(m) }

// electorate publishes the proposals of two DAOs, counted by ranges of a few voters.
type electorate struct {
	t         *testing.T
	redisURL  string
	publisher *Publisher
	term      leaderTerm
	random    *rand.Rand
	proposals []record.ProposalRef
	// shown is called when results are in Redis but not yet in the warehouse, noted after rows of changes.
	shown, noted func()
}

// newElectorate publishes some proposals for each type of vote.
func newElectorate(t *testing.T, ofEachType int) *electorate {
	t.Helper()
	url := env.EmbeddedRedis(t)
	store := env.Store(t, url)
	lease := store.NewLease(time.Hour)
	env.MustDo(t, lease.Acquire(t.Context()))
	e := &electorate{t: t, redisURL: url, random: rand.New(rand.NewPCG(8, 4)), shown: func() {}, noted: func() {}}
	opened := env.Warehouse(t)
	e.publisher = New(Options{
		Warehouse: opened, Store: store, Lease: lease,
		Invalidate: func(context.Context, *cache.Writer) { e.shown() }, OnPublish: func() {},
		Changes: changelog.New(changelog.Options{Warehouse: opened, Store: store, OnChanges: func(int, int64) { e.noted() }}),
		Logger:  slog.New(slog.NewTextHandler(t.Output(), nil)), Metrics: prometheus.NewRegistry(),
		Errors: prometheus.NewCounter(prometheus.CounterOpts{Name: "errors_total", Help: "Errors."}),
	})
	e.publisher.rangedFrom, e.publisher.daoRangedFrom, e.publisher.votersPerRange, e.publisher.recountInterval = 1, 1, 4, 0
	e.term = leaderTerm{publisher: e.publisher}
	types := voteTypes()
	var records []record.Record
	for i := range ofEachType * len(types) {
		ref := record.ProposalRef{Provider: governance.Snapshot, ExternalID: fmt.Sprint("p", i)}
		e.proposals = append(e.proposals, ref)
		records = append(records, &record.Proposal{
			ProposalRef: ref, SourceID: fmt.Sprintf("space-%d", i%2), Title: ref.ExternalID,
			VoteType: types[i%len(types)], Choices: []string{"A", "B", "C"},
		})
	}
	e.append(records)
	e.step()
	return e
}

func voteTypes() []governance.VoteType {
	return []governance.VoteType{
		governance.SingleChoice, governance.Approval, governance.Weighted, governance.Quadratic, governance.RankedChoice,
	}
}

func (e *electorate) append(all []record.Record) {
	e.t.Helper()
	run := records.Import{ID: uuid.New(), ObservedAt: time.Now().UTC().Truncate(time.Millisecond)}
	env.Must(records.Append(e.t.Context(), e.publisher.Warehouse, run, all))(e.t)
}

func (e *electorate) step() {
	e.t.Helper()
	env.MustDo(e.t, e.term.step(e.t.Context(), 0))
}

// dieAfter begins a step in which the leader dies at a call of shown, numbered from 0. Another takes over.
func (e *electorate) dieAfter(survived int) {
	e.t.Helper()
	ctx, die := context.WithCancel(e.t.Context())
	defer die()
	e.shown = func() {
		if survived--; survived < 0 {
			die()
		}
	}
	if err := e.term.step(ctx, 0); err == nil && ctx.Err() == nil {
		e.t.Fatal("got a publication that shows nothing, want one during which the leader dies")
	}
	e.shown = func() {}
	e.takeOver()
}

func (e *electorate) takeOver() {
	e.publisher.forgetSums()
	e.term = leaderTerm{publisher: e.publisher}
}

// recountAll counts every proposal and DAO that is due, as Publisher.Recount does.
func (e *electorate) recountAll() {
	e.t.Helper()
	for {
		found := env.Must(e.publisher.recountNext(e.t.Context(), time.Now()))(e.t)
		if !found {
			return
		}
	}
}

func castOn(proposal record.ProposalRef, voter, id string, power int64) *record.Ballot {
	return &record.Ballot{
		Proposal: proposal, Voter: voter, VoteID: id, Power: decimal.NewFromInt(power), Choices: []string{"1"}, ChoiceKey: "1", RawChoice: "1",
	}
}

func (e *electorate) propose(id, space string, withdrawn bool, also ...record.Record) governance.ProposalKey {
	e.t.Helper()
	e.append(append(also, &record.Proposal{
		ProposalRef: record.ProposalRef{Provider: governance.Snapshot, ExternalID: id}, SourceID: space,
		Title: id, VoteType: governance.SingleChoice, Choices: []string{"A", "B"}, Withdrawn: withdrawn,
	}))
	return governance.Identity{DAOID: space, Provider: governance.Snapshot, ExternalID: id}.ProposalKey()
}

// ballot is one of few voters: new, cast again at a later or the same time, corrected, or withdrawn.
func (e *electorate) ballot() *record.Ballot {
	e.t.Helper()
	place := e.random.IntN(len(e.proposals))
	proposal := e.proposals[place]
	voter := fmt.Sprintf("0x%x", e.random.IntN(40))
	b := &record.Ballot{
		Proposal: proposal, Voter: voter, VoteID: fmt.Sprint(voter, "-", e.random.IntN(3)),
		Power: decimal.New(e.random.Int64N(1e15), -15), RawChoice: "1", Withdrawn: e.random.IntN(6) == 0,
	}
	if at := governance.Timestamp(e.random.IntN(4)); at > 0 {
		at *= 20 * 24 * 3600 * 1000
		b.VotedAt = &at
	}
	switch voteTypes()[place%len(voteTypes())] {
	case governance.SingleChoice:
		b.Choices = []string{fmt.Sprint(1 + e.random.IntN(3))}
		b.ChoiceKey = b.Choices[0]
	case governance.Approval, governance.RankedChoice:
		b.Choices = [][]string{{"1"}, {"2"}, {"3", "1"}, {"2", "3", "1"}}[e.random.IntN(4)]
		b.ChoiceKey = b.Choices[0]
	default:
		weights := []decimal.Decimal{decimal.NewFromInt(e.random.Int64N(3)), decimal.NewFromInt(7)}
		b.SetWeights([]string{"1", "2"}, weights)
	}
	return b
}

// check compares what is counted by ranges, and what is published, with a count of all ballots.
func (e *electorate) check() {
	e.t.Helper()
	refs := make([]record.RefHash, len(e.proposals))
	for i, proposal := range e.proposals {
		refs[i] = proposal.Hash()
	}
	whole := env.Must(counts.VoteTotalsOf(e.t.Context(), e.publisher.Warehouse, refs))(e.t)
	states := env.Must(counts.PublishedStates(e.t.Context(), e.publisher.Warehouse, refs))(e.t)
	published := map[record.RefHash]counts.ProposalState{}
	for _, state := range states {
		published[state.Ref] = state
	}
	ranged := env.Must(e.publisher.voteTotals(e.t.Context(), refs))(e.t)
	for i, ref := range refs {
		// A sum of one has an empty map where the whole count has none.
		want := counts.SumTotals([]counts.VoteTotals{whole[ref]})
		got := counts.SumTotals([]counts.VoteTotals{ranged[ref]})
		if !want.Equal(got) {
			e.t.Fatalf("%s: got %+v by ranges, want %+v", e.proposals[i].ExternalID, got, want)
		}
		if state := published[ref]; state.Votes != want.Votes || !state.Power.Equal(want.Power) {
			e.t.Fatalf("%s: got %d votes of %s published, want %d of %s",
				e.proposals[i].ExternalID, state.Votes, state.Power, want.Votes, want.Power)
		}
	}
}

func (e *electorate) play(publications int) {
	e.t.Helper()
	ranged := 0
	for range publications {
		// Where most voters have voted, their DAO is counted whole.
		most := []int{2, 3 * len(e.proposals)}[e.random.IntN(2)]
		for range 1 + e.random.IntN(3) {
			records := make([]record.Record, 1+e.random.IntN(most))
			for i := range records {
				records[i] = e.ballot()
			}
			e.append(records)
		}
		switch e.random.IntN(7) {
		case 0:
			// A space moves to another DAO, and its proposals with it.
			source := record.SourceRef{Provider: governance.Snapshot, ID: fmt.Sprintf("space-%d", e.random.IntN(2))}
			id := fmt.Sprintf("dao-%d", e.random.IntN(3))
			e.append([]record.Record{&record.DAO{ID: id, Name: id, Sources: []record.SourceRef{source}}})
		case 1:
			// A leader dies, and another one takes over.
			e.takeOver()
		case 2:
			// A leader dies after it has counted, before it has published.
			batches := env.Must(e.term.unprocessed(e.t.Context(), time.Now()))(e.t)
			for _, batch := range batches {
				e.publisher.touch(batch.Changes)
			}
			env.Must(e.publisher.voteTotals(e.t.Context(), nil))(e.t)
		case 3:
			// A recount that runs while batches arrive.
			e.recountAll()
			e.append([]record.Record{e.ballot(), e.ballot()})
		case 4:
			// A leader dies when the results are in Redis, before the warehouse states them.
			e.dieAfter(0)
		case 5:
			// A leader dies after it has completed a publication, before it is told.
			e.dieAfter(1)
		}
		e.step()
		e.check()
		ranged += e.checkDAOs()
		e.recountAll()
	}
	if ranged == 0 {
		e.t.Error("got no DAO counted by ranges, want some")
	}
	env.Want(e.t, 0, testutil.ToFloat64(e.publisher.metrics.recountDifferences), "recounts that differ")
	if got := testutil.ToFloat64(e.publisher.metrics.ranged); got < float64(publications) {
		e.t.Errorf("got %v proposals counted by ranges, want many", got)
	}
}

func TestRangedTotalsFollowBatches(t *testing.T) {
	t.Parallel()
	newElectorate(t, 2).play(4)
}

func TestLongRangedTotalsFollowBatches(t *testing.T) {
	t.Parallel()
	newElectorate(t, 12).play(12)
}

// A row that changes without a batch stands for any fault by which ranges miss a ballot.
func TestRecountReplacesWrongTotals(t *testing.T) {
	t.Parallel()
	e := newElectorate(t, 1)
	e.publisher.recountOverlap = -time.Hour // only open batches are pending
	e.append([]record.Record{castOn(e.proposals[0], "0xa", "a", 1), castOn(e.proposals[0], "0xb", "b", 2)})
	e.step()
	e.recountAll()
	ref := e.proposals[0].Hash()
	sums, _ := e.publisher.totals.staleOf(ref)
	for i := range sums.sums {
		sums.sums[i].Votes++
	}
	e.publisher.totals.subjects[ref].changed = true
	e.recountAll()
	env.Want(t, 1, testutil.ToFloat64(e.publisher.metrics.recountDifferences), "recounts that differ")
	e.step()
	e.check()
	states, err := counts.PublishedStates(t.Context(), e.publisher.Warehouse, []record.RefHash{ref})
	if err != nil || len(states) != 1 || !slices.Contains(states[0].QualityFlags, string(rules.TotalsRecounted)) {
		t.Errorf("got %+v, %v, want a state flagged %s", states, err, rules.TotalsRecounted)
	}
}

func TestPublicationOfLeaderThatDiesIsCompleted(t *testing.T) {
	t.Parallel()
	e := newElectorate(t, 1)
	for survived := range 2 {
		e.append([]record.Record{e.ballot(), e.ballot(), e.ballot()})
		e.dieAfter(survived)
		e.step()
		e.check()
		e.recountAll()
	}
}

// checkDAOs compares participation by ranges, and what is published, with a count, and counts the ranged DAOs.
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
