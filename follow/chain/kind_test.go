package chain_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"pnyx/clock"
	"pnyx/governance"
	"pnyx/test/env"
	fake "pnyx/test/upstream/chain"
	"pnyx/warehouse/records"
)

// openPoll follows a Governor that answers COUNTING_MODE with mode and has mined some logs, at
// the time of its head.
func openPoll(t *testing.T, mode string, logs ...fake.Log) *follower {
	t.Helper()
	f := newFollower(t)
	f.chain.Answer(governorAddress, "COUNTING_MODE()", nil, mode)
	f.chain.MineEmpty(20)
	f.clock = clock.Stepping(startOfFake().Add(24 * fake.BlockTime))
	f.start()
	f.chain.Mine(logs...)
	f.chain.MineEmpty(2)
	f.Poll("tip")
	return f
}

func TestParamsDivideAVoteWhereTheContractSaysSo(t *testing.T) {
	t.Parallel()
	split := func(support uint64) fake.Log {
		return fake.Emit(governorAddress, votedInParts, 1, ada, uint64(1), support, uint64(300), "", parts(100, 150, 50))
	}
	plain := fake.Emit(governorAddress, votedInParts, 1, bob, uint64(1), uint64(1), uint64(70), "", []byte{1, 2})
	for name, c := range map[string]struct {
		mode    string
		support uint64
		want    [3]int64
	}{
		"in parts, against":        {"support=bravo&quorum=for,abstain&params=fractional", 0, [3]int64{220, 100, 50}},
		"in parts, nothing":        {"support=bravo&quorum=for,abstain&params=fractional", 255, [3]int64{220, 100, 50}},
		"in parts, for first":      {"support=bravo&quorum=bravo&params=fractional", 0, [3]int64{170, 150, 50}},
		"not in parts, in favour":  {"support=bravo&quorum=for,abstain", 1, [3]int64{370, 0, 0}},
		"to a module, abstaining":  {"support=bravo&quorum=for,abstain&params=modules", 2, [3]int64{70, 0, 300}},
		"a mode that is not known": {"", 0, [3]int64{70, 300, 0}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := openPoll(t, c.mode, created(1, 22, 1_000), split(c.support), plain)
			f.wantPower(c.want, 2)
		})
	}
}

func TestAMovedEndIsTheEnd(t *testing.T) {
	t.Parallel()
	for name, move := range map[string]func(*follower){
		"by an event": func(f *follower) {
			f.chain.Mine(fake.Emit(governorAddress, "ProposalDeadlineUpdated(uint256,uint64)", 0, uint64(1), uint64(90)))
		},
		"without an event": func(f *follower) {
			f.chain.Answer(governorAddress, "proposalDeadline(uint256)", []any{uint64(1)}, uint64(90))
		},
		"by an event, and not in the struct": func(f *follower) {
			f.chain.Answer(governorAddress, "proposals(uint256)", []any{uint64(1)}, uint64(1), ada, uint64(0), uint64(22), uint64(60), uint64(0), uint64(0), uint64(0))
			f.chain.Mine(fake.Emit(governorAddress, "ProposalObjectionPeriodSet(uint256,uint256)", 1, uint64(1), uint64(90)))
		},
		"in the proposal's struct": func(f *follower) {
			f.chain.Answer(governorAddress, "proposals(uint256)", []any{uint64(1)}, uint64(1), ada, uint64(0), uint64(22), uint64(90), uint64(0), uint64(0), uint64(0), uint64(0), uint64(0))
		},
		"for nobody to see": func(f *follower) { f.chain.MineEmpty(120) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := openPoll(t, "support=bravo&quorum=for", created(1, 22, 60))
			f.chain.Answer(governorAddress, "state(uint256)", []any{uint64(1)}, uint64(1))
			f.Poll("state")
			move(f)
			f.Poll("tip", "final", "state")
			got, _ := f.proposal("1")
			want := startOfFake().Add(90 * fake.BlockTime)
			if isKnown := name != "for nobody to see"; isKnown != (got.EndAt != nil) || isKnown && !got.EndAt.Time().Equal(want) {
				t.Errorf("got end %v, want %v where it is known", got.EndAt, want)
			}
		})
	}
}

func TestAQuorumThatChangesIsReadUntilVotingIsOver(t *testing.T) {
	t.Parallel()
	f := openPoll(t, "support=bravo&quorum=for", created(1, 22, 60))
	say := func(state, quorum uint64) {
		f.chain.Answer(governorAddress, "state(uint256)", []any{uint64(1)}, state)
		f.chain.Answer(governorAddress, "quorumVotes(uint256)", []any{uint64(1)}, quorum)
		f.clock.Step(time.Minute)
		f.Poll("state")
	}
	f.chain.Answer(governorAddress, "quorumVotes()", nil, uint64(7)) // the least that it can be
	const active, succeeded = 1, 4
	for _, step := range []struct{ state, quorum, want uint64 }{
		{active, 10, 10}, {active, 25, 25}, {succeeded, 30, 30}, {succeeded, 40, 30},
	} {
		say(step.state, step.quorum)
		got, _ := f.proposal("1")
		if want := decimal.New(int64(step.want), -18); got.Quorum == nil || !got.Quorum.Equal(want) {
			t.Errorf("in state %d: got quorum %v, want %v", step.state, got.Quorum, want)
		}
	}
	before := f.chain.Calls("eth_call")
	say(succeeded, 40)
	env.Want(t, 1, f.chain.Calls("eth_call")-before, "calls about a vote that is over", "that of its state")
}

// hashed is an id that cannot be a time.
func hashed() fake.Hex { return fake.Hex(fake.Keccak("a proposal")) }

func TestAProposalOfAVotingModuleIsOne(t *testing.T) {
	t.Parallel()
	for _, event := range []string{
		"ProposalCreated(uint256,address,address,bytes,uint256,uint256,string)",
		"ProposalCreated(uint256,address,address,bytes,uint256,uint256,string,uint8)",
	} {
		t.Run(event, func(t *testing.T) {
			t.Parallel()
			values := []any{uint64(1), ada, fake.Hex(tokenAddress), []byte{1, 2, 3}, uint64(22), uint64(1_000), "# Choose a council"}
			if event[len(event)-2] == '8' {
				values = append(values, uint64(4))
			}
			f := openPoll(t, "support=bravo&quorum=against,for,abstain&params=modules", fake.Emit(governorAddress, event, 3, values...), voted(ada, 1, 9))
			got, known := f.proposal("1")
			if !known || got.Title != "Choose a council" || got.ProposerID != string(ada) {
				t.Errorf("got %q by %s (%t), want the proposal of the module", got.Title, got.ProposerID, known)
			}
			f.wantPower([3]int64{9, 0, 0}, 1)
		})
	}
}

func TestAQuorumOfTheProposalPrecedesOneOfATime(t *testing.T) {
	t.Parallel()
	f := openPoll(t, "support=bravo&quorum=for",
		fake.Emit(governorAddress, createdEvent, 0, hashed(), ada, nil, nil, nil, nil, uint64(22), uint64(1_000), "One"), created(1, 22, 1_000))
	f.chain.Answer(governorAddress, "quorum(uint256)", []any{hashed()}, uint64(50))
	f.chain.Answer(governorAddress, "quorum(uint256)", []any{uint64(22)}, uint64(3))
	f.chain.Answer(governorAddress, "quorum(uint256)", []any{uint64(1)}, uint64(8)) // the quorum of block 1
	f.chain.Mine(fake.Emit(governorAddress, createdEvent, 0, uint64(2), ada, nil, nil, nil, nil, uint64(23), uint64(1_000), "Two"))
	f.chain.Answer(governorAddress, "state(uint256)", []any{uint64(2)}, uint64(1))
	f.chain.Answer(governorAddress, "quorum(uint256)", []any{uint64(2)}, uint64(5))
	f.chain.Answer(governorAddress, "quorum(uint256)", []any{uint64(23)}, uint64(0)) // no proposal has this id
	f.chain.MineEmpty(30)
	f.Poll("tip", "state")
	proposals := env.Must(records.AllProposals(t.Context(), f.warehouse))(t)
	held := env.Must(records.Proposals(t.Context(), f.warehouse, proposals))(t)
	got := map[string]string{}
	for _, p := range held {
		got[p.Title] = fmt.Sprint(p.Quorum)
	}
	if got["One"] != "0.00000000000000005" || got["Dredge the channel"] != "0.000000000000000003" || got["Two"] != "0.000000000000000005" {
		t.Errorf("got quorums %v, want 50 and 5 of the proposals, and 3 of the start of the other", got)
	}
}

func TestAContractWithQuorumVotesCountsThoseInFavourAlone(t *testing.T) {
	t.Parallel()
	for mode, want := range map[string][]string{
		"": {governance.GovernorFor}, "support=bravo&quorum=for,abstain": {governance.GovernorFor, governance.GovernorAbstain},
	} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			f := openPoll(t, mode, created(1, 22, 60))
			f.chain.Answer(governorAddress, "quorumVotes(uint256)", []any{uint64(1)}, uint64(10))
			f.Poll("state")
			if got, _ := f.proposal("1"); got.QuorumRaw != "10" || !slices.Equal(got.QuorumChoices, want) {
				t.Errorf("got quorum %q of %v, want 10 of %v", got.QuorumRaw, got.QuorumChoices, want)
			}
		})
	}
}

func TestAVoteThatIsDecidedBeforeItsEndIsOver(t *testing.T) {
	t.Parallel()
	f := openPoll(t, "support=bravo&quorum=for", created(1, 22, 1_000))
	for _, number := range []uint64{1, 11, 4} {
		want := map[uint64]string{1: governance.UpstreamActive, 11: "state 11", 4: "succeeded"}[number] // a fork's own is not known
		f.chain.Answer(governorAddress, "state(uint256)", []any{uint64(1)}, number)
		f.clock.Step(time.Minute)
		f.Poll("state")
		if got, _ := f.proposal("1"); got.State != want {
			t.Errorf("got state %s, want %s", got.State, want)
		}
	}
}

func TestACountOfTheContractIsStatedWhereBallotsDiffer(t *testing.T) {
	t.Parallel()
	f := endedPoll(t)
	f.chain.Answer(governorAddress, "proposalVotes(uint256)", []any{uint64(1)}, uint64(3), uint64(600), uint64(1))
	f.Poll("state")
	wantStated := func(want ...int64) {
		t.Helper()
		got, _ := f.proposal("1")
		var stated []int64
		for _, score := range got.StatedScores {
			stated = append(stated, score.Shift(18).IntPart())
		}
		if !slices.Equal(stated, want) {
			t.Errorf("got stated scores %v, want %v for, against and abstaining", stated, want)
		}
	}
	wantStated(600, 3, 1)
	f.start()
	f.Poll("tip", "state")
	wantStated(600, 3, 1)
	f.chain.Answer(governorAddress, "proposalVotes(uint256)", []any{uint64(1)}, uint64(0), uint64(507), uint64(0))
	f.Poll("state")
	wantStated()
}
