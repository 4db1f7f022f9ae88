package publish

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/shopspring/decimal"

	"pnyx/governance"
	"pnyx/test/env"
	"pnyx/warehouse/counts"
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

// pendingVoters is what records.PendingVoters returns.
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

// publish does the next step of a publication. Of batches that it has read whole, the sum is that of all ballots.
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

// count computes the sum that a publication writes.
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
