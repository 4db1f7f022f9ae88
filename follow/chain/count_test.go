package chain_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"pnyx/test/env"
	fake "pnyx/test/upstream/chain"
	"pnyx/warehouse/counts"
	"pnyx/warehouse/record"
)

// endedPoll is a chain with a proposal on which ada voted with 500 and bob with 7, whose
// blocks are final, and which the first endpoint answers without bob's vote.
func endedPoll(t *testing.T) *follower {
	t.Helper()
	f := newFollower(t)
	f.chain.MineEmpty(20)
	f.start()
	f.Poll("backfill", "tip")
	f.chain.Mine(created(1, 22, 30))
	f.chain.Mine(voted(ada, 1, 500))
	inBlock := f.chain.Mine(voted(bob, 1, 7))
	f.chain.MineEmpty(120) // more than ten minutes
	f.chain.Fail(fake.Faults{Forget: func(number uint64) bool { return number == inBlock }})
	f.Poll("tip", "final")
	f.wantPower([3]int64{500, 0, 0}, 1)
	f.chain.Fail(fake.Faults{})
	return f
}

func TestAVoteThatBothLooksMissedIsFoundByTheContractsCount(t *testing.T) {
	t.Parallel()
	for name, counts := range map[string]struct {
		method string
		words  []any
	}{
		"of OpenZeppelin": {"proposalVotes(uint256)", []any{uint64(0), uint64(507), uint64(0)}},
		"of Bravo": {"proposals(uint256)", []any{
			uint64(1), ada, uint64(0), uint64(22), uint64(30), uint64(507), uint64(0), uint64(0), uint64(0), uint64(0),
		}},
		"of Alpha": {"proposals(uint256)", []any{
			uint64(1), ada, uint64(0), uint64(22), uint64(30), uint64(507), uint64(0), uint64(0), uint64(0),
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := endedPoll(t)
			f.chain.Answer(governorAddress, counts.method, []any{uint64(1)}, counts.words...)
			f.Poll("state")
			f.wantPower([3]int64{507, 0, 0}, 2)
			env.Want(t, 1, f.count(gaps), "gaps")
			f.Poll("state") // compares once more
			asked := f.chain.Calls("eth_call")
			f.start()
			f.Poll("state")
			probed := f.chain.Calls("eth_call")
			f.Poll("state", "state")
			if got := f.chain.Calls("eth_call"); got != probed || asked == 0 {
				t.Errorf("got %d more calls, want none: the votes agreed", got-probed)
			}
		})
	}
}

func TestAContractThatCountsOtherwiseIsReadAgainThreeTimes(t *testing.T) {
	t.Parallel()
	f := endedPoll(t)
	f.chain.Answer(governorAddress, "proposalVotes(uint256)", []any{uint64(1)}, uint64(0), uint64(22), uint64(0))
	for range 5 {
		f.Poll("state")
	}
	f.wantPower([3]int64{507, 0, 0}, 2)
	asked := f.chain.Calls("eth_call")
	f.Poll("state")
	env.Want(t, asked, f.chain.Calls("eth_call"), "calls", "none after three times")
}

func TestVotesAreCountedOnceTheirBlocksAreFinalAndThePastIsRead(t *testing.T) {
	t.Parallel()
	for name, missing := range map[string]string{"no final block yet": "final", "no past": "backfill"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFollower(t)
			f.chain.MineEmpty(20)
			f.chain.Answer(governorAddress, "proposalVotes(uint256)", []any{uint64(1)}, uint64(0), uint64(500), uint64(0))
			f.start()
			f.Poll("tip")
			f.chain.Mine(created(1, 22, 30))
			f.chain.Mine(voted(ada, 1, 500))
			f.chain.MineEmpty(120)
			f.Poll("tip")
			for _, poller := range []string{"backfill", "final"} {
				if poller != missing {
					f.Poll(poller)
				}
			}
			f.Poll("state")
			before := f.chain.Calls("eth_call")
			f.Poll(missing, "state")
			counted := f.chain.Calls("eth_call")
			f.Poll("state")
			if counted == before || f.chain.Calls("eth_call") != counted {
				t.Errorf("got %d calls, then %d, then %d, want a count once %s is read", before, counted, f.chain.Calls("eth_call"), missing)
			}
		})
	}
}

// otherClock makes the Governor's clock count the blocks of another chain, which began a
// day before and is at a number.
func otherClock(f *follower, number int) *fake.Chain {
	other := fake.New(1, startOfFake().AddDate(0, 0, -1), fakeFinality)
	other.MineEmpty(number)
	f.clockEndpoints = []http.Handler{other}
	return other
}

func TestAClockOfAnotherChainDatesProposalsByItsBlocks(t *testing.T) {
	t.Parallel()
	f := newFollower(t)
	f.chain.MineEmpty(20)
	other := otherClock(f, 7_500)
	f.start()
	f.Poll("tip")
	f.chain.Mine(created(1, 7_400, 7_600))
	f.Poll("tip")
	want := func(text string) {
		t.Helper()
		got, _ := f.proposal("1")
		start := startOfFake().AddDate(0, 0, -1)
		from, until := start.Add(7_400*fake.BlockTime), start.Add(7_600*fake.BlockTime)
		if got.StartAt == nil || got.EndAt == nil || !got.StartAt.Time().Equal(from) || !got.EndAt.Time().Equal(until) {
			t.Errorf("%s: got %v to %v, want %v to %v", text, got.StartAt, got.EndAt, from, until)
		}
	}
	want("estimated")
	other.MineEmpty(200)
	f.Poll("state")
	want("mined")
	env.Want(t, 0, other.Calls("eth_getLogs"), "requests for logs of the clock's chain")
}

func TestAClockInSecondsDatesProposalsWithoutAskingForBlocks(t *testing.T) {
	t.Parallel()
	f := newFollower(t)
	other := otherClock(f, 10)
	f.chain.Answer(governorAddress, "CLOCK_MODE()", nil, "mode=timestamp")
	f.chain.MineEmpty(20)
	f.start()
	f.Poll("tip")
	from, until := startOfFake().Add(fake.BlockTime*30), startOfFake().Add(fake.BlockTime*40)
	f.chain.Answer(governorAddress, "quorum(uint256)", []any{uint64(from.Unix())}, uint64(4_000))
	f.chain.Mine(created(1, uint64(from.Unix()), uint64(until.Unix())))
	f.Poll("tip")
	got, _ := f.proposal("1")
	if got.StartAt == nil || got.EndAt == nil || !got.StartAt.Time().Equal(from) || !got.EndAt.Time().Equal(until) || got.QuorumRaw != "4000" {
		t.Errorf("got %v to %v with quorum %q, want %v to %v with 4000", got.StartAt, got.EndAt, got.QuorumRaw, from, until)
	}
	env.Want(t, 0, other.Calls("eth_getBlockByNumber"), "requests for blocks of the clock's chain")
}

func TestATokenWithoutDecimalsCountsInSmallestUnits(t *testing.T) {
	t.Parallel()
	const bare, pieces, many = "0x00000000000000000000000000000000000000c1", "0x00000000000000000000000000000000000000c2", "0x00000000000000000000000000000000000000c3"
	erc721 := fake.Hex("0x80ac58cd" + strings.Repeat("0", 56))
	for name, tt := range map[string]struct {
		token, problem string
	}{
		"a token that says nothing":      {bare, "the decimals of the token are unknown"},
		"a token that counts pieces":     {pieces, ""},
		"a token of 255 decimals":        {many, "the decimals of the token are unknown"},
		"a Governor that names no token": {"", "the decimals of the token are unknown"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFollower(t)
			f.chain.Answer(governorAddress, "token()", nil, fake.Hex("0x0"))
			f.chain.Answer(pieces, "supportsInterface(bytes4)", []any{erc721}, uint64(1))
			f.chain.Answer(many, "decimals()", nil, uint64(255))
			f.governors[0].Token = tt.token
			f.chain.MineEmpty(20)
			f.start()
			if got := f.upstream.Check(t.Context())[0].Problem; !strings.HasPrefix(got, tt.problem) || (got == "") != (tt.problem == "") {
				t.Errorf("got problem %q, want %q", got, tt.problem)
			}
			f.Poll("tip")
			f.chain.Mine(created(1, 22, 1_000))
			f.chain.Mine(voted(ada, 1, 3))
			f.Poll("tip")
			totals := env.Must(counts.VoteTotalsOf(t.Context(), f.warehouse, []record.RefHash{f.ref("1")}))(t)
			env.Want(t, "3", totals[f.ref("1")].Power.String(), "power")
		})
	}
}

func TestAnOpenVoteOfWhichTheContractCountsMoreIsStated(t *testing.T) {
	t.Parallel()
	f := openPoll(t, "support=bravo&quorum=for", created(1, 22, 1_000), voted(ada, 1, 20))
	f.chain.Answer(governorAddress, "state(uint256)", []any{uint64(1)}, uint64(1))
	f.Poll("backfill")
	for _, step := range []struct{ counted, want uint64 }{{20, 0}, {90, 90}, {15, 0}} { // less is another rule, or lag
		f.chain.Answer(governorAddress, "proposalVotes(uint256)", []any{uint64(1)}, uint64(0), step.counted, uint64(0))
		f.clock.Step(time.Minute)
		f.Poll("state")
		got, _ := f.proposal("1")
		if stated := got.StatedScoresTotal; (stated == nil) != (step.want == 0) || stated != nil && !stated.Equal(decimal.New(int64(step.want), -18)) {
			t.Errorf("counted %d: got %v stated, want %d", step.counted, stated, step.want)
		}
	}
	f.wantPower([3]int64{20, 0, 0}, 1)
}
