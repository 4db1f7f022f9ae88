package publish

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
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

// cast is a stored ballot: the latest version of one vote id.
type cast struct {
	voter, voteID, choice string
	power                 int64
	votedAt               *governance.Timestamp
	withdrawn             bool
}

// ballotStore is a warehouse of one proposal in memory, with its journal.
type ballotStore struct {
	casts map[string]cast
	// open batches are being written, pending ones committed, and no publication has completed them.
	open, pending []*journaled
}

type journaled struct {
	voters  map[string]bool
	records []cast
	written bool
}

// counts reports whether a counts before b by the rule of the contract.
func (a cast) counts(b cast) bool {
	switch {
	case (a.votedAt == nil) != (b.votedAt == nil):
		return b.votedAt == nil
	case a.votedAt != nil && *a.votedAt != *b.votedAt:
		return *a.votedAt > *b.votedAt
	}
	return a.voteID > b.voteID
}

func (s *ballotStore) totals(r counts.VoterRange) counts.VoteTotals {
	latest, casts := map[string]cast{}, map[string]int{}
	for _, c := range s.casts {
		if c.withdrawn || c.voter < r.From || r.Until != "" && c.voter >= r.Until {
			continue
		}
		casts[c.voter]++
		if before, voted := latest[c.voter]; !voted || c.counts(before) {
			latest[c.voter] = c
		}
	}
	sum := counts.SumTotals(nil)
	for voter, c := range latest {
		power := decimal.New(c.power, -18)
		sum.Votes, sum.Power = sum.Votes+1, sum.Power.Add(power)
		sum.Support(governance.Ranking{Choices: []string{c.choice}, Votes: 1, Power: power})
		sum.LastVotedAt, sum.Recast = governance.Later(sum.LastVotedAt, c.votedAt), sum.Recast || casts[voter] > 1
		if c.votedAt == nil {
			sum.Undated++
		} else {
			sum.VotedIn[counts.Month(202600+*c.votedAt)]++
		}
	}
	return sum
}

// begin opens a batch of first votes, recasts, equal times, corrections and withdrawals. Few name no voters.
func (s *ballotStore) begin(random *rand.Rand) {
	b := &journaled{voters: map[string]bool{}}
	for range 1 + random.IntN(3) {
		c := cast{voter: fmt.Sprintf("0x%x", random.IntN(24)), choice: fmt.Sprint(random.IntN(3)), power: random.Int64N(1e12)}
		if at := governance.Timestamp(random.IntN(4)); at > 0 {
			c.votedAt = &at
		}
		c.voteID = fmt.Sprint(c.voter, "-", random.IntN(3))
		c.withdrawn = random.IntN(5) == 0
		b.records = append(b.records, c)
		b.voters[c.voter] = true
	}
	if random.IntN(12) == 0 {
		b.voters = nil
	}
	s.open = append(s.open, b)
}

// write writes the next record of an open batch, or commits one that has none left.
func (s *ballotStore) write(random *rand.Rand) {
	if len(s.open) == 0 {
		return
	}
	place := random.IntN(len(s.open))
	b := s.open[place]
	if len(b.records) > 0 {
		s.casts[b.records[0].voteID] = b.records[0]
		b.records, b.written = b.records[1:], true
		return
	}
	s.open, s.pending = slices.Delete(s.open, place, place+1), append(s.pending, b)
}

func (s *ballotStore) pendingVoters() (voters map[string]bool, all bool) {
	voters = map[string]bool{}
	for _, b := range slices.Concat(s.open, s.pending) {
		maps.Copy(voters, b.voters)
		all = all || b.voters == nil
	}
	return voters, all
}

func starts(random *rand.Rand) (found []string) {
	for voter := range 24 {
		if random.IntN(4) == 0 {
			found = append(found, fmt.Sprintf("0x%x", voter))
		}
	}
	slices.Sort(found)
	return found
}

// history is a worker that publishes one proposal. It and the imports die between any two steps.
type history struct {
	t      *testing.T
	seed   uint64
	random *rand.Rand
	store  *ballotStore
	sums   *rangeSums[string, counts.VoteTotals]
	// publishing are batches that the publication has read; touched and counted tell how far it is.
	publishing       []*journaled
	touched, counted bool
	// sum is what it has counted, and published the sum of the last one that was completed.
	sum, published counts.VoteTotals
	// counting is the background count, of which the first len(parts) ranges are counted.
	counting *wholeCount
	ranges   []counts.VoterRange
	parts    []counts.VoteTotals
	log      []string
}

func newHistory(t *testing.T, seed uint64) *history {
	t.Helper()
	return &history{
		t: t, seed: seed, random: rand.New(rand.NewPCG(seed, 84)), store: &ballotStore{casts: map[string]cast{}},
		sums: newRangeSums(rangeCounts[string, counts.VoteTotals]{add: counts.SumTotals, equal: counts.VoteTotals.Equal}),
	}
}

func (h *history) step() {
	steps := []struct {
		name   string
		weight int
		do     func()
	}{
		{"open a batch", 3, func() { h.store.begin(h.random) }},
		{"write", 9, func() { h.store.write(h.random) }},
		{"imports die", 1, h.abandon},
		{"publish", 12, h.publish},
		{"a publication fails", 1, func() { h.publishing = nil }},
		{"die", 1, h.die},
		{"count", 9, h.advance},
	}
	place := h.random.IntN(36)
	for _, step := range steps {
		if place -= step.weight; place < 0 {
			h.log = append(h.log, step.name)
			step.do()
			return
		}
	}
}

// abandon ends the imports. Batches are committed later with the records that are written.
func (h *history) abandon() {
	for _, b := range h.store.open {
		b.records = nil
	}
}

// publish does the next step of a publication. Of batches that it has read whole, the sum is of all ballots.
func (h *history) publish() {
	switch {
	case h.publishing == nil:
		h.publishing = append([]*journaled{}, h.store.pending...)
		h.touched, h.counted = false, false
	case !h.touched:
		h.touched = true
		for _, b := range h.publishing {
			if b.voters == nil {
				h.sums.drop("p")
			} else {
				h.sums.touch("p", b.voters)
			}
		}
	case !h.counted:
		h.counted = true
		h.sum = h.count()
		unread := func(b *journaled) bool { return b.written && !slices.Contains(h.publishing, b) }
		if !slices.ContainsFunc(slices.Concat(h.store.open, h.store.pending), unread) {
			h.check(h.sum)
		}
	default:
		h.published = h.sum
		h.store.pending = slices.DeleteFunc(h.store.pending, func(b *journaled) bool { return slices.Contains(h.publishing, b) })
		h.publishing = nil
	}
}

func (h *history) count() counts.VoteTotals {
	sum, ok, err := h.sums.total("p", func(ranges []counts.VoterRange) ([]counts.VoteTotals, error) {
		parts := make([]counts.VoteTotals, len(ranges))
		for i, r := range ranges {
			parts[i] = h.store.totals(r)
		}
		return parts, nil
	})
	if err != nil {
		h.t.Fatal(err)
	}
	if !ok {
		sum = h.store.totals(counts.VoterRange{})
		h.sums.want("p", false)
	}
	return sum
}

func (h *history) check(got counts.VoteTotals) {
	if want := h.store.totals(counts.VoterRange{}); !want.Equal(got) {
		h.t.Fatalf("seed %d after %s: got other totals than of all ballots (-want +got):\n%s",
			h.seed, strings.Join(h.log, ", "), cmp.Diff(want, got))
	}
}

func (h *history) die() {
	h.sums.reset()
	h.counting, h.publishing = nil, nil
}

// advance begins a count in the background, counts one more range, or ends the count.
func (h *history) advance() {
	switch {
	case h.counting == nil:
		if _, count, ok := h.sums.next(time.Unix(1, 0)); ok {
			h.counting, h.ranges, h.parts = count, counts.RangesOf(starts(h.random)), nil
		}
	case len(h.parts) < len(h.ranges):
		for range 1 + h.random.IntN(len(h.ranges)) {
			if next := len(h.parts); next < len(h.ranges) {
				h.parts = append(h.parts, h.store.totals(h.ranges[next]))
			}
		}
	default:
		pending, all := h.store.pendingVoters()
		wrong := h.sums.done("p", h.counting, h.ranges, h.parts, pending, all, time.Time{})
		h.counting = nil
		if len(wrong) > 0 {
			h.t.Fatalf("seed %d after %s: got %d wrong ranges, want none", h.seed, strings.Join(h.log, ", "), len(wrong))
		}
	}
}

// end commits what is written, publishes it, and checks it.
func (h *history) end() {
	h.abandon()
	for len(h.store.open) > 0 {
		h.store.write(h.random)
	}
	h.publishing = nil // one that has begun before fails
	for first := true; first || h.publishing != nil; first = false {
		h.publish()
	}
	h.check(h.published)
}

// Any order of casts, recasts, equal times, corrections, withdrawals, batches that do not name
// voters and counts in the background ends equal to a count of all ballots, and no recount
// reports a difference, while several imports and a worker die between any two steps. One goroutine
// does all: the race detector has nothing to find.
func TestHistoriesEndEqualToRecount(t *testing.T) {
	t.Parallel()
	histories := uint64(100_000)
	if testing.Short() {
		histories = 2000
	}
	for seed := range histories {
		h := newHistory(t, seed)
		for range 60 {
			h.step()
		}
		h.end()
	}
}

func TestRecountFindsWrongSum(t *testing.T) {
	t.Parallel()
	h := newHistory(t, 1)
	h.store.casts["v1"] = cast{voter: "0x3", voteID: "v1", choice: "1", power: 5}
	h.store.casts["v2"] = cast{voter: "0x7", voteID: "v2", choice: "1", power: 7}
	ranges := counts.RangesOf([]string{"0x5"})
	recount := func(pending map[string]bool, all bool) []counts.VoterRange {
		t.Helper()
		_, count, ok := h.sums.next(time.Unix(1, 0))
		if !ok {
			t.Fatal("got no subject to count, want one that has changed")
		}
		sums := []counts.VoteTotals{h.store.totals(ranges[0]), h.store.totals(ranges[1])}
		return h.sums.done("p", count, ranges, sums, pending, all, time.Time{})
	}
	h.count()
	if wrong := recount(nil, false); wrong != nil {
		t.Fatalf("first count: got %v wrong, want none", wrong)
	}
	for name, c := range map[string]struct {
		pending map[string]bool
		all     bool
		want    []counts.VoterRange
	}{
		"without a batch":                           {nil, false, ranges[1:]},
		"with a pending batch of another range":     {map[string]bool{"0x3": true}, false, ranges[1:]},
		"with a pending batch of its range":         {map[string]bool{"0x9": true}, false, nil},
		"with a pending batch that names no voters": {nil, true, nil},
	} {
		// Another range changes, so that a recount is due.
		h.sums.touch("p", map[string]bool{"0x1": true})
		h.count()
		changed := h.store.casts["v2"]
		changed.power++
		h.store.casts["v2"] = changed
		env.WantSame(t, fmt.Sprintf("a ballot that changes %s", name), c.want, recount(c.pending, c.all))
		if got, want := h.count(), h.store.totals(counts.VoterRange{}); !want.Equal(got) {
			t.Errorf("a ballot that changes %s: got %s after the recount, want %s", name, got.Power, want.Power)
		}
	}
}

func TestSubjectThatIsMostlyStaleIsCountedWhole(t *testing.T) {
	t.Parallel()
	h := newHistory(t, 2)
	var between []string
	for i := range 300 {
		between = append(between, fmt.Sprintf("0x%03x", i))
	}
	for name, c := range map[string]struct {
		touched int
		want    bool
	}{"half": {len(between) / 2, true}, "most": {len(between)/2 + 1, false}} {
		h.sums.reset()
		h.sums.want("p", false)
		_, count, _ := h.sums.next(time.Unix(1, 0))
		ranges := counts.RangesOf(between)
		h.sums.done("p", count, ranges, make([]counts.VoteTotals, len(ranges)), nil, false, time.Time{})
		voters := map[string]bool{}
		for _, voter := range between[:c.touched] {
			voters[voter] = true
		}
		h.sums.touch("p", voters)
		_, got, err := h.sums.total("p", func(ranges []counts.VoterRange) ([]counts.VoteTotals, error) {
			return make([]counts.VoteTotals, len(ranges)), nil
		})
		if err != nil || got != c.want {
			t.Errorf("%s: got ranges used %v, %v, want %v", name, got, err, c.want)
		}
	}
}

// A vote that goes on is counted whole with every ballot until it has sums: it does not wait for
// those that have ended, and neither does it wait for the rest after a recount.
func TestVotesThatGoOnAreCountedFirst(t *testing.T) {
	t.Parallel()
	add := func(counts []int) int { return len(counts) }
	sums := newRangeSums(rangeCounts[string, int]{add: add, equal: func(a, b int) bool { return a == b }})
	oneRange := counts.RangesOf(nil)
	recount := func(now time.Time) string {
		key, count, ok := sums.next(now)
		if !ok {
			return "none"
		}
		env.Want(t, key == "live", count.urgent, key, "a recount that is urgent")
		sums.done(key, count, oneRange, []int{1}, nil, false, now)
		return key
	}
	change := func(key string) {
		sums.touch(key, map[string]bool{"0x1": true})
		count := func(ranges []counts.VoterRange) ([]int, error) { return make([]int, len(ranges)), nil }
		if _, ok, err := sums.total(key, count); !ok || err != nil {
			t.Errorf("%s has no sums: %v", key, err)
		}
	}
	sums.want("older", false)
	recount(time.Unix(1, 0))
	sums.want("newer", false)
	recount(time.Unix(2, 0))
	change("newer")
	change("older")
	sums.want("ended", false)
	if len(sums.urgent) != 0 {
		t.Error("a vote without new ballots ends the rest after a recount")
	}
	sums.want("ended, too", false)
	sums.want("live", false)
	sums.want("live", true)
	if len(sums.urgent) != 1 {
		t.Error("a vote that goes on waits for the rest after a recount")
	}
	want := []string{"live", "older", "newer"}
	for i := range want {
		env.Want(t, want[i], recount(time.Unix(10, 0)), "a recount of")
	}
	sums.want("live", true)
	if ended := []string{recount(time.Unix(10, 0)), recount(time.Unix(10, 0)), recount(time.Unix(10, 0))}; !slices.Contains(ended, "ended") ||
		!slices.Contains(ended, "ended, too") || ended[2] != "none" {
		t.Errorf("got recounts of %q, want both that ended", ended)
	}
}

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
	published := env.Must(counts.PublishedStates(e.t.Context(), e.publisher.Warehouse, refs))(e.t)
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
	if err != nil || len(states) != 1 || !slices.Contains(states[ref].QualityFlags, string(rules.TotalsRecounted)) {
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
