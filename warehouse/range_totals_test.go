package warehouse_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/shopspring/decimal"

	"pnyx/governance"
	"pnyx/test/env"
	"pnyx/warehouse"
	"pnyx/warehouse/counts"
	"pnyx/warehouse/record"
	"pnyx/warehouse/records"
)

// One definition is written four times, with values compared, rows merged, by ranges of voters, and read
// back: votes of every shape, cast again, corrected, undated, withdrawn, of no power.
func TestEveryWayOfCountingIsTheSame(t *testing.T) {
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
	proposals := []string{"p0", "p1", "p2", "without ballots"}
	var refs []record.RefHash
	for _, proposal := range proposals {
		refs = append(refs, ref(proposal).Hash())
	}
	tallies := env.Must(counts.VoteTotalsOf(t.Context(), w, refs))(t)
	if len(tallies) != 3 || tallies[refs[0]].Votes < 100 || !tallies[refs[0]].Recast || tallies[refs[0]].Forms[counts.Malformed] == 0 {
		t.Fatalf("got %+v, want many votes, some of them recast", tallies)
	}
	type count = func(context.Context, *warehouse.Warehouse, []record.RefHash) (map[record.RefHash]counts.VoteTotals, error)
	for _, way := range []struct {
		name  string
		count count
	}{{"merged", counts.MergedTotals}, {"stored", counts.StoredVoteTotals}, {"read back", counts.StoredVoteTotals}} {
		got, err := way.count(t.Context(), w, refs)
		if diff := cmp.Diff(tallies, got); err != nil || diff != "" {
			t.Errorf("%s: %v (-compared +%[1]s):\n%[3]s", way.name, err, diff)
		}
	}
	rankings, err := counts.Rankings(t.Context(), w, refs)
	ranked, errMerged := counts.MergedRankings(t.Context(), w, refs)
	if diff := cmp.Diff(ranked, rankings); err != nil || errMerged != nil || diff != "" {
		t.Errorf("rankings: %v, %v (-merged +compared):\n%s", err, errMerged, diff)
	}
	for _, proposal := range proposals {
		for _, size := range []uint64{1, 8, 1 << 20} {
			t.Run(fmt.Sprintf("%s in ranges of %d", proposal, size), func(t *testing.T) {
				t.Parallel()
				hash := ref(proposal).Hash()
				starts := env.Must(counts.RangeStarts(t.Context(), w, hash, size))(t)
				ranges := counts.RangesOf(starts)
				parts := env.Must(counts.RangeTotals(t.Context(), w, hash, ranges))(t)
				env.WantSame(t, fmt.Sprintf("%d ranges", len(ranges)), counts.SumTotals([]counts.VoteTotals{tallies[hash]}), counts.SumTotals(parts))
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

// insertBallots writes ballots of many voters on a proposal.
func insertBallots(t *testing.T, url string, hash record.RefHash, voters int) {
	t.Helper()
	mustExec(t, raw(t, url), fmt.Sprintf(`INSERT INTO ballots (proposal_ref, voter, vote_id, provider, external_id, power, choices, choice_key, version)
		SELECT unhex('%s'), concat('0x', lower(hex(sipHash128(number)))), toString(number), 'snapshot', 'large', 1.5,
			[toString(1 + number %% 3)], toString(1 + number %% 3), 1 FROM numbers(%d)`, hexOf(hash), voters))
}

// The cost of a ballot follows the range of its voter, not the proposal.
func TestRangeOfManyBallotsReadsFewRows(t *testing.T) {
	t.Parallel()
	const ballots, size = 200_000, 8192
	w, url := openURL(t)
	hash := ref("large").Hash()
	insertBallots(t, url, hash, ballots)
	starts := env.Must(counts.RangeStarts(t.Context(), w, hash, size))(t)
	if want := ballots / size; len(starts) < want/2 || len(starts) > 2*want {
		t.Fatalf("got %d ranges of %d voters, want about %d", len(starts), ballots, want)
	}
	ranges := counts.RangesOf(starts)
	widest, widestSum := ranges[0], uint64(0)
	for i := range ranges {
		parts := env.Must(counts.RangeTotals(t.Context(), w, hash, ranges[i:i+1]))(t)
		if parts[0].Votes > widestSum {
			widest, widestSum = ranges[i], parts[0].Votes
		}
	}
	// A range is read from its first granule to its last, of each part of the table.
	read := rowsRead(t, func(ctx context.Context) error {
		_, err := counts.RangeTotals(ctx, w, hash, []counts.VoterRange{widest})
		return err
	})
	if limit := widestSum + 8*8192; read > limit {
		t.Errorf("got %d rows read for a range of %d of %d ballots, want at most %d", read, widestSum, ballots, limit)
	}
}

func TestBatchesNameTheVotersOfTheirProposalsUnlessTheyAreMany(t *testing.T) {
	t.Parallel()
	w := open(t)
	appendAll(t, w, ballot("a", "0xa", "v1", "1", "1", nil), ballot("a", "0xb", "v2", "1", "1", nil))
	appendAll(t, w, ballot("b", "0xc", "v3", "1", "1", nil), ballot("c", "0xd", "v4", "1", "1", nil))
	many := make([]record.Record, 2001)
	for i := range many {
		many[i] = ballot("many", fmt.Sprint("0x", i), fmt.Sprint("v", i), "1", "1", nil)
	}
	appendAll(t, w, many...)
	batches, err := records.CommittedBatches(t.Context(), w, time.Now().Add(-24*time.Hour))
	if err != nil || len(batches) != 3 {
		t.Fatalf("got %d batches, %v, want 3", len(batches), err)
	}
	want := map[record.RefHash]map[string]bool{ref("b").Hash(): {"0xc": true}, ref("c").Hash(): {"0xd": true}}
	if diff := cmp.Diff(want, batches[1].Changes.Voters); diff != "" || batches[2].Changes.Voters != nil {
		t.Errorf("got %d proposals with voters in a batch of 2001, want none named; voters of another (-want +got):\n%s", len(batches[2].Changes.Voters), diff)
	}
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
			env.WantSame(t, "voters", c.voters, voters)
		})
	}
}

// participationByRange returns the participation of a DAO, summed up over ranges of its voters.
func participationByRange(t *testing.T, w *warehouse.Warehouse, daoID string, size uint64) (ranges int, sum counts.Participation) {
	t.Helper()
	starts := env.Must(counts.DAORangeStarts(t.Context(), w, daoID, size))(t)
	parts := env.Must(counts.RangeParticipation(t.Context(), w, daoID, counts.RangesOf(starts)))(t)
	return len(parts), counts.SumParticipation(parts)
}

// checkParticipation checks the participation of the DAO "dao", counted whole and by ranges.
func checkParticipation(t *testing.T, w *warehouse.Warehouse, want counts.Participation) {
	t.Helper()
	env.Want(t, want, env.Must(counts.ParticipationOf(t.Context(), w, []string{"dao"}))(t)["dao"])
	env.Want(t, want, env.Must(counts.StoredParticipation(t.Context(), w, []string{"dao"}))(t)["dao"], "stored")
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
		insertBallots(t, url, hash, voters)
	}
	writeStates(t, w, states...)
	starts := env.Must(counts.DAORangeStarts(t.Context(), w, "dao", size))(t)
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

// anyBallot is one of few voters, on one of three proposals.
func anyBallot(t *testing.T, random *rand.Rand) *record.Ballot {
	t.Helper()
	voter := random.IntN(150)
	times := []*governance.Timestamp{nil, at("2026-01-31T23:59:59Z"), at("2026-02-01T00:00:00Z"), at("2026-02-03T00:00:00Z")}
	b := ballot(fmt.Sprintf("p%d", random.IntN(3)), fmt.Sprintf("0x%d", voter), fmt.Sprintf("v%d-%d", voter, random.IntN(2)),
		fmt.Sprint(1+random.IntN(3)), decimal.New(random.Int64N(1e15), -9).String(), times[random.IntN(len(times))])
	b.VotedDayOnly, b.PowerRounded = random.IntN(5) == 0, random.IntN(5) == 0
	switch random.IntN(4) {
	case 0:
		b.Choices = []string{"2", "1", "3"}[:random.IntN(4)]
		b.RawChoice = []string{"[]", "[2,2]", `{"0":1}`, `"x"`}[random.IntN(4)]
	case 1:
		b.Choices = nil
		weights := []decimal.Decimal{decimal.NewFromInt(random.Int64N(3)), decimal.NewFromInt(random.Int64N(3)), decimal.NewFromInt(7)}
		b.SetWeights([]string{"1", "2", "3"}, weights)
	}
	return b
}

// A count is not repeated until a ballot comes, is cast again, corrected or withdrawn, or rows
// are merged; and then for these proposals and DAOs alone.
func TestStoredSumsAreOfTheBallotsAsTheyAre(t *testing.T) {
	t.Parallel()
	w, url := openURL(t)
	conn := raw(t, url)
	run := func(statement string) { mustExec(t, conn, statement) }
	publishInDAOs(t, w, map[string]string{"changing": "dao", "still": "other"})
	appendAll(t, w, ballot("changing", "0xa", "v1", "1", "1", nil), ballot("still", "0xa", "v2", "1", "1", nil))
	changing, still := ref("changing").Hash(), ref("still").Hash()
	withdrawn := ballot("changing", "0xb", "v3", "1", "4", nil)
	withdrawn.Withdrawn = true
	for _, step := range []struct {
		name   string
		change func()
		votes  uint64
		power  int64
	}{
		{"first", func() {}, 1, 1},
		{"another voter", func() { appendAll(t, w, ballot("changing", "0xb", "v3", "1", "2", nil)) }, 2, 3},
		{"a correction", func() { appendAll(t, w, ballot("changing", "0xb", "v3", "1", "4", nil)) }, 2, 5},
		{"a recast", func() { appendAll(t, w, ballot("changing", "0xa", "v4", "1", "8", at("2026-01-01T00:00:00Z"))) }, 2, 12},
		{"merged parts", func() { run("OPTIMIZE TABLE ballots FINAL") }, 2, 12},
		{"a withdrawal", func() { appendAll(t, w, withdrawn) }, 1, 8},
	} {
		step.change()
		totals := env.Must(counts.StoredVoteTotals(t.Context(), w, []record.RefHash{changing, still}))(t)
		if got := totals[changing]; got.Votes != step.votes || !got.Power.Equal(decimal.NewFromInt(step.power)) {
			t.Errorf("%s: got %d votes of %s, want %d of %d", step.name, got.Votes, got.Power, step.votes, step.power)
		}
		participation, err := counts.StoredParticipation(t.Context(), w, []string{"dao", "other"})
		if want := (counts.Participation{UniqueVoters: step.votes, Votes: step.votes}); err != nil || participation["dao"] != want {
			t.Errorf("%s: got %+v (%v), want %+v", step.name, participation["dao"], err, want)
		}
		if step.name == "first" {
			// Marks what is read back.
			run("ALTER TABLE vote_totals UPDATE votes = 1000 WHERE 1 SETTINGS mutations_sync = 1")
			run("ALTER TABLE participation UPDATE votes = 1000 WHERE 1 SETTINGS mutations_sync = 1")
			continue
		}
		if totals[still].Votes != 1000 || participation["other"].Votes != 1000 {
			t.Errorf("%s: counted %d votes and %+v again, want what was stored", step.name, totals[still].Votes, participation["other"])
		}
	}
}

// publishInDAOs gives proposals their DAOs, as a publication does.
func publishInDAOs(t *testing.T, w *warehouse.Warehouse, daoOf map[string]string) {
	t.Helper()
	var states []counts.ProposalState
	for name, dao := range daoOf {
		states = append(states, counts.ProposalState{
			Ref: ref(name).Hash(), Key: governance.ProposalKey(name), Power: decimal.Zero, Revision: 1,
			Identity: governance.Identity{DAOID: dao, Provider: governance.Snapshot, ExternalID: name},
		})
	}
	writeStates(t, w, states...)
}
