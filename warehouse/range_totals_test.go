package warehouse_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/shopspring/decimal"

	"pnyx/warehouse"
	"pnyx/warehouse/counts"
	"pnyx/warehouse/record"
	"pnyx/warehouse/records"
)

// Counting by ranges is the third writing of the rule by which ballots count: votes of every
// shape, cast again, corrected, undated, withdrawn, of no power.
func TestRangeTotalsSumToVoteTotals(t *testing.T) {
	t.Parallel()
	w := open(t)
	random := rand.New(rand.NewPCG(3, 4))
	for range 3 {
		records := make([]record.Record, 0, 400)
		for range cap(records) {
			b := anyBallot(t, random)
			b.Withdrawn = random.IntN(6) == 0
			records = append(records, b)
		}
		appendAll(t, w, records...)
	}
	odd := []string{
		"", "'", `\`, "a\tb", "日", "0x1'); DROP", "{places:Array(UInt64)}",
		"0x", "0x\x00", "did:pkh:eip155:1:0xa", "did:pkh:eip155:1:0xb",
	}
	for i, voter := range odd {
		appendAll(t, w, ballot("p0", voter, fmt.Sprint("odd", i), "1", "1.5", nil))
	}
	for _, proposal := range []string{"p0", "p1", "p2", "without ballots"} {
		for _, size := range []uint64{1, 8, 1 << 20} {
			t.Run(fmt.Sprintf("%s in ranges of %d", proposal, size), func(t *testing.T) {
				t.Parallel()
				hash := ref(proposal).Hash()
				starts, err := counts.RangeStarts(t.Context(), w, hash, size)
				if err != nil {
					t.Fatal(err)
				}
				ranges := counts.RangesOf(starts)
				parts, err := counts.RangeTotals(t.Context(), w, hash, ranges)
				if err != nil {
					t.Fatal(err)
				}
				whole, err := counts.VoteTotalsOf(t.Context(), w, []record.RefHash{hash})
				if err != nil {
					t.Fatal(err)
				}
				want := counts.SumTotals([]counts.VoteTotals{whole[hash]})
				if diff := cmp.Diff(want, counts.SumTotals(parts)); diff != "" {
					t.Errorf("%d ranges (-whole +sum):\n%s", len(ranges), diff)
				}
				if len(ranges) > 2 {
					some := []counts.VoterRange{ranges[0], ranges[len(ranges)/2], ranges[len(ranges)-1]}
					got, err := counts.RangeTotals(t.Context(), w, hash, some)
					want := []counts.VoteTotals{parts[0], parts[len(parts)/2], parts[len(parts)-1]}
					if diff := cmp.Diff(want, got); err != nil || diff != "" {
						t.Errorf("three ranges: %v (-want +got):\n%s", err, diff)
					}
				}
			})
		}
	}
}

func TestBatchNamesItsVotersUnlessTheyAreMany(t *testing.T) {
	t.Parallel()
	w := open(t)
	appendAll(t, w, ballot("a", "0xa", "v1", "1", "1", nil), ballot("a", "0xb", "v2", "1", "1", nil),
		ballot("b", "0xa", "v3", "1", "1", nil))
	many := make([]record.Record, 2001)
	for i := range many {
		many[i] = ballot("c", fmt.Sprint("0x", i), fmt.Sprint("v", i), "1", "1", nil)
	}
	appendAll(t, w, many...)
	batches, err := records.CommittedBatches(t.Context(), w, time.Now().Add(-24*time.Hour))
	if err != nil || len(batches) != 2 {
		t.Fatalf("got %d batches, %v, want 2", len(batches), err)
	}
	want := map[record.RefHash]map[string]bool{
		ref("a").Hash(): {"0xa": true, "0xb": true}, ref("b").Hash(): {"0xa": true},
	}
	if diff := cmp.Diff(want, batches[0].Changes.Voters); diff != "" {
		t.Errorf("voters (-want +got):\n%s", diff)
	}
	if got := batches[1].Changes.Voters; got != nil {
		t.Errorf("got %d proposals with voters in a batch of 2001, want none named", len(got))
	}
}

// The cost of a ballot follows the range of its voter, not the proposal.
func TestRangeOfManyBallotsReadsFewRows(t *testing.T) {
	t.Parallel()
	const ballots, size = 200_000, 8192
	w, url := openURL(t)
	hash := ref("large").Hash()
	insert := fmt.Sprintf(`INSERT INTO ballots (proposal_ref, voter, vote_id, provider, external_id, power, choices, choice_key, version)
		SELECT unhex('%s'), concat('0x', lower(hex(sipHash128(number)))), toString(number), 'snapshot', 'large', 1.5,
			[toString(1 + number %% 3)], toString(1 + number %% 3), 1 FROM numbers(%d)`, hexOf(hash), ballots)
	mustExec(t, raw(t, url), insert)
	starts, err := counts.RangeStarts(t.Context(), w, hash, size)
	if err != nil {
		t.Fatal(err)
	}
	if want := ballots / size; len(starts) < want/2 || len(starts) > 2*want {
		t.Fatalf("got %d ranges of %d voters, want about %d", len(starts), ballots, want)
	}
	ranges := counts.RangesOf(starts)
	widest, widestSum := ranges[0], uint64(0)
	began := time.Now()
	for i := range ranges {
		parts, err := counts.RangeTotals(t.Context(), w, hash, ranges[i:i+1])
		if err != nil {
			t.Fatal(err)
		}
		if parts[0].Votes > widestSum {
			widest, widestSum = ranges[i], parts[0].Votes
		}
	}
	mean := time.Since(began) / time.Duration(len(ranges))
	// A range is read from its first granule to its last, of each part of the table.
	read := rowsRead(t, func(ctx context.Context) error {
		_, err := counts.RangeTotals(ctx, w, hash, []counts.VoterRange{widest})
		return err
	})
	if limit := widestSum + 8*8192; read > limit {
		t.Errorf("got %d rows read for a range of %d of %d ballots, want at most %d", read, widestSum, ballots, limit)
	}
	began = time.Now()
	if _, err := counts.VoteTotalsOf(t.Context(), w, []record.RefHash{hash}); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d ballots: %d ranges, %s each; all ballots %s; the widest range reads %d rows for %d ballots",
		ballots, len(ranges), mean, time.Since(began), read, widestSum)
}

func TestPendingVotersAreThoseOfTheProposals(t *testing.T) {
	t.Parallel()
	w := open(t)
	appendAll(t, w, ballot("a", "0xa", "v1", "1", "1", nil), ballot("a", "0xb", "v2", "1", "1", nil))
	appendAll(t, w, ballot("b", "0xc", "v3", "1", "1", nil), ballot("c", "0xd", "v4", "1", "1", nil))
	many := make([]record.Record, 2001)
	for i := range many {
		many[i] = ballot("many", fmt.Sprint("0x", i), fmt.Sprint("v", i), "1", "1", nil)
	}
	appendAll(t, w, many...)
	for name, c := range map[string]struct {
		proposals []string
		since     time.Duration
		voters    map[string]bool
		all       bool
	}{
		"of one":                       {[]string{"a"}, time.Hour, map[string]bool{"0xa": true, "0xb": true}, false},
		"of two":                       {[]string{"a", "b"}, time.Hour, map[string]bool{"0xa": true, "0xb": true, "0xc": true}, false},
		"of none":                      {[]string{"d"}, time.Hour, map[string]bool{}, false},
		"of a batch that names none":   {[]string{"c", "many"}, time.Hour, map[string]bool{"0xd": true}, true},
		"of batches that are read":     {[]string{"a", "many"}, -time.Hour, map[string]bool{}, false},
		"of a proposal beside another": {[]string{"c"}, time.Hour, map[string]bool{"0xd": true}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var refs []record.RefHash
			for _, proposal := range c.proposals {
				refs = append(refs, ref(proposal).Hash())
			}
			voters, all, err := records.PendingVoters(t.Context(), w, refs, time.Now().Add(-c.since))
			if err != nil || all != c.all {
				t.Errorf("got all %t, %v, want %t", all, err, c.all)
			}
			if diff := cmp.Diff(c.voters, voters); diff != "" {
				t.Errorf("voters (-want +got):\n%s", diff)
			}
		})
	}
}

// participationByRange returns the participation of a DAO, summed up over ranges of its voters.
func participationByRange(t *testing.T, w *warehouse.Warehouse, daoID string, size uint64) (ranges int, sum counts.Participation) {
	t.Helper()
	starts, err := counts.DAORangeStarts(t.Context(), w, daoID, size)
	if err != nil {
		t.Fatal(err)
	}
	parts, err := counts.RangeParticipation(t.Context(), w, daoID, counts.RangesOf(starts))
	if err != nil {
		t.Fatal(err)
	}
	return len(parts), counts.SumParticipation(parts)
}

// checkParticipation checks the participation of the DAO "dao", counted whole and by ranges.
func checkParticipation(t *testing.T, w *warehouse.Warehouse, want counts.Participation) {
	t.Helper()
	got, err := counts.ParticipationOf(t.Context(), w, []string{"dao"})
	if err != nil || got["dao"] != want {
		t.Errorf("got %+v, %v, want %+v", got["dao"], err, want)
	}
	stored, err := counts.StoredParticipation(t.Context(), w, []string{"dao"})
	if err != nil || stored["dao"] != want {
		t.Errorf("stored: got %+v, %v, want %+v", stored["dao"], err, want)
	}
	for _, size := range []uint64{1, 8, 1 << 20} {
		if ranges, sum := participationByRange(t, w, "dao", size); sum != want {
			t.Errorf("%d ranges: got %+v, want %+v", ranges, sum, want)
		}
	}
}

// The cost of a ballot follows the range of its voter, not the DAO.
func TestRangeOfALargeDAOReadsFewRows(t *testing.T) {
	t.Parallel()
	const proposals, voters, size = 8, 50_000, 1024
	w, url := openURL(t)
	states := make([]counts.ProposalState, proposals)
	for p := range proposals {
		hash := ref(fmt.Sprint("large-", p)).Hash()
		states[p] = counts.ProposalState{Ref: hash, Votes: voters, Power: decimal.Zero, Revision: 1}
		states[p].Identity.DAOID = "dao"
		insert := fmt.Sprintf(`INSERT INTO ballots (proposal_ref, voter, vote_id, provider, external_id, power, choices, choice_key, version)
			SELECT unhex('%s'), concat('0x', lower(hex(sipHash128(number)))), toString(number), 'snapshot', 'large-%d', 1.5, ['1'], '1', 1
			FROM numbers(%d)`, hexOf(hash), p, voters)
		mustExec(t, raw(t, url), insert)
	}
	writeStates(t, w, states...)
	starts, err := counts.DAORangeStarts(t.Context(), w, "dao", size)
	if err != nil {
		t.Fatal(err)
	}
	ranges := counts.RangesOf(starts)
	var counted []counts.Participation
	read := rowsRead(t, func(ctx context.Context) (err error) {
		counted, err = counts.RangeParticipation(ctx, w, "dao", ranges[len(ranges)/2:len(ranges)/2+1])
		return err
	})
	// A range is read from its first granule to its last, of each proposal or part of the table.
	if limit := counted[0].Votes + proposals*4*1024; counted[0].Votes == 0 || read > limit {
		t.Errorf("got %d rows read for %+v, of %d votes in %d ranges, want at most %d",
			read, counted[0], proposals*voters, len(ranges), limit)
	}
}
