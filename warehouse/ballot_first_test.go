package warehouse_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/shopspring/decimal"

	"pnyx/governance"
	"pnyx/governance/query"
	"pnyx/warehouse"
	"pnyx/warehouse/pages"
	"pnyx/warehouse/record"
)

// history is what voters did on one proposal: casts, and corrections of them, in few
// powers and times, so that many are equal.
type history struct {
	proposal string
	random   *rand.Rand
	casts    map[string]*record.Ballot
}

// Next is some casts, new ones and corrections, of so many voters at the most.
func (h *history) next(count, voters int) (records []record.Record) {
	known := map[string]bool{}
	for len(records) < count {
		voter := fmt.Sprintf("0x%02d", h.random.IntN(voters))
		id := fmt.Sprintf("%s-%d", voter, h.random.IntN(4))
		if known[id] {
			count-- // one version of a cast a batch
			continue
		}
		known[id] = true
		var votedAt *governance.Timestamp
		if day := h.random.IntN(6); day > 0 {
			votedAt = at(fmt.Sprintf("2026-01-%02dT00:00:00Z", day))
		}
		b := ballot(h.proposal, voter, id, "1", fmt.Sprintf("%d.5", h.random.IntN(8)), votedAt)
		h.casts[id] = b
		records = append(records, b)
	}
	return records
}

// counting are the ballots that count, one a voter.
func (h *history) counting() []*record.Ballot {
	latest := map[string]*record.Ballot{}
	for _, b := range h.casts {
		if held := latest[b.Voter]; held == nil || supersedes(b, held) {
			latest[b.Voter] = b
		}
	}
	var ballots []*record.Ballot
	for _, b := range latest {
		ballots = append(ballots, b)
	}
	return ballots
}

func supersedes(a, b *record.Ballot) bool {
	return cmp.Or(cmp.Compare(stamp(a), stamp(b)), cmp.Compare(a.VoteID, b.VoteID)) > 0
}

// stamp is the time of a ballot; without one it is before all others.
func stamp(b *record.Ballot) governance.Timestamp {
	if b.VotedAt == nil {
		return -1
	}
	return *b.VotedAt
}

func TestFirstPageEqualsSortedBallots(t *testing.T) {
	t.Parallel()
	w := open(t)
	for _, voters := range []int{3, 40} {
		h := &history{
			proposal: fmt.Sprintf("of-%d", voters), random: rand.New(rand.NewPCG(7, uint64(voters))), casts: map[string]*record.Ballot{},
		}
		for range 6 {
			appendAll(t, w, h.next(25, voters)...)
			h.checkTally(t, w)
			for _, limit := range []int{1, 2, 7, 50} {
				h.checkFirst(t, w, limit)
			}
		}
	}
}

// checkTally holds the count against the history.
func (h *history) checkTally(t *testing.T, w *warehouse.Warehouse) {
	t.Helper()
	counting, power := h.counting(), decimal.Zero
	for _, b := range counting {
		power = power.Add(b.Power)
	}
	got := tally(t, w, h.proposal)
	if got.Votes != uint64(len(counting)) || !got.Power.Equal(power) || got.Recast != (len(h.casts) > len(counting)) {
		t.Errorf("%s: got %d votes of %s, recast %v, want %d of %s of %d casts", h.proposal, got.Votes, got.Power, got.Recast, len(counting), power, len(h.casts))
	}
}

// firstBallots selects the first ballots in an order.
func firstBallots(order query.BallotOrder, limit int) query.Ballots {
	return query.Ballots{Order: order, Paging: query.Paging[query.BallotPosition]{Limit: limit}}
}

// checkFirst holds the first pages against the history.
func (h *history) checkFirst(t *testing.T, w *warehouse.Warehouse, limit int) {
	t.Helper()
	place := pages.BallotSource{Ref: ref(h.proposal).Hash()}
	byPower, err := pages.ListBallots(t.Context(), w, place, firstBallots(query.BallotsByPower, limit))
	if err != nil {
		t.Fatal(err)
	}
	h.check(t, byPower, limit, func(a, b *record.Ballot) int { return b.Power.Cmp(a.Power) })
	byTime, err := pages.ListBallots(t.Context(), w, place, firstBallots(query.BallotsByTime, limit))
	if err != nil {
		t.Fatal(err)
	}
	h.check(t, byTime, limit, func(a, b *record.Ballot) int { return cmp.Compare(stamp(b), stamp(a)) })
}

func (h *history) check(t *testing.T, page []pages.LatestBallot, limit int, order func(a, b *record.Ballot) int) {
	t.Helper()
	want := h.counting()
	slices.SortFunc(want, func(a, b *record.Ballot) int { return cmp.Or(order(a, b), cmp.Compare(b.Voter, a.Voter)) })
	want = want[:min(limit, len(want))]
	if len(page) != len(want) {
		t.Fatalf("%s: got %d ballots, want %d", h.proposal, len(page), len(want))
	}
	for i, b := range want {
		got := page[i]
		if got.VoterIdentity != b.Voter || got.VoteID != b.VoteID || got.VotingPower != governance.DecimalOf(b.Power) || (got.VotedAt == nil) != (b.VotedAt == nil) {
			t.Fatalf("%s: row %d of %d: got %s %s %s, want %s %s %s", h.proposal, i, limit, got.VoterIdentity, got.VoteID, got.VotingPower, b.Voter, b.VoteID, b.Power)
		}
	}
}

func TestSupersededBallotsDoNotDisplaceOthersFromFirstPage(t *testing.T) {
	t.Parallel()
	w := open(t)
	early, late := at("2026-01-01T00:00:00Z"), at("2026-01-02T00:00:00Z")
	var records []record.Record
	for n := range 30 {
		records = append(records, ballot("p", "0xa", fmt.Sprintf("early-%d", n), "1", "1000", early))
	}
	records = append(records, ballot("p", "0xa", "late", "1", "1", late))
	for n := range 9 {
		records = append(records, ballot("p", fmt.Sprintf("0xb%d", n), fmt.Sprintf("b%d", n), "1", fmt.Sprint(10+n), early))
	}
	appendAll(t, w, records...)
	page, err := pages.ListBallots(t.Context(), w, pages.BallotSource{Ref: ref("p").Hash()}, firstBallots(query.BallotsByPower, 3))
	if err != nil {
		t.Fatal(err)
	}
	if len(page) != 3 || page[0].VoterIdentity != "0xb8" || page[2].VotingPower != "16" {
		t.Errorf("got %+v, want the three most powerful of those whose ballots count", page)
	}
}
