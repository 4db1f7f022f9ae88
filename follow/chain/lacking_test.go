package chain_test

import (
	"math/big"
	"strings"
	"testing"

	"github.com/shopspring/decimal"

	"pnyx/governance"
	"pnyx/test/env"
	fake "pnyx/test/upstream/chain"
	"pnyx/warehouse/record"
	"pnyx/warehouse/records"
)

// lacks returns what the followed Governor states and is not held, after its past was read.
func (f *follower) lacks() string {
	f.t.Helper()
	f.Poll("tip", "backfill", "final", "state", "backfill")
	follows := env.Must(records.SourceFollows(f.t.Context(), f.warehouse, startOfFake()))(f.t)
	return follows[f.upstream.Sources()[0]].Lacks
}

func TestWhatAGovernorStatesAndIsNotHeldIsNamed(t *testing.T) {
	t.Parallel()
	variant := fake.Emit(governorAddress, "ProposalCreated(uint256,address,bytes32,string)", 0, uint64(1), ada, fake.Hex("0x1"), "# Another form")
	broken := voted(bob, 1, 7)
	broken.Data = broken.Data[:100]
	for name, c := range map[string]struct {
		mode string
		logs []fake.Log
		want []string
	}{
		"nothing":                    {"", []fake.Log{created(1, 22, 60), voted(ada, 1, 5)}, nil},
		"settings that change":       {"", []fake.Log{fake.Emit(governorAddress, "VotingDelaySet(uint256,uint256)", 0, uint64(1), uint64(2))}, nil},
		"an event that is not known": {"", []fake.Log{created(1, 22, 60), fake.Emit(governorAddress, "Pondered(uint256)", 1, uint64(1))}, []string{"1 logs of events", fake.Keccak("Pondered(uint256)")}},
		"a log that is cut":          {"", []fake.Log{created(1, 22, 60), broken}, []string{"1 logs of events", broken.Topics[0]}},
		"another ProposalCreated":    {"", []fake.Log{variant}, []string{variant.Topics[0]}},
		"a vote without a proposal":  {"", []fake.Log{voted(ada, 1, 5), voted(bob, 1, 6)}, []string{"2 logs about 1 proposals", "creates: 1"}},
		"an end without a proposal":  {"", []fake.Log{fake.Emit(governorAddress, "ProposalExecuted(uint256)", 0, uint64(9))}, []string{"creates: 9"}},
		"a mode that is not known":   {"support=ranked&quorum=for", []fake.Log{created(1, 22, 60)}, []string{`modes are not known: "support=ranked&quorum=for"`}},
		"a clock of another chain":   {"", []fake.Log{created(1, 5, 60)}, []string{"times of 1 proposals", "clockChain"}},
		"params that are not known":  {"support=bravo&quorum=for&params=delegated", []fake.Log{created(1, 22, 60)}, []string{"counting mode"}},
		"the mode of fractions":      {"support=bravo,fractional&quorum=for,abstain&params=fractional", []fake.Log{created(1, 22, 60)}, nil},
		"the mode of overrides":      {"support=bravo,override&quorum=for,abstain&overridable=true", []fake.Log{created(1, 22, 60)}, nil},
		"the mode of Bravo":          {"support=bravo&quorum=bravo", []fake.Log{created(1, 22, 60)}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := openPoll(t, c.mode, c.logs...)
			got := f.lacks()
			if (got == "") != (c.want == nil) {
				t.Errorf("got %q, want %v", got, c.want)
			}
			for _, want := range c.want {
				env.WantPart(t, want, got, "in it")
			}
			if p, _ := f.proposal("1"); strings.Contains(got, "clockChain") && (p.StartAt != nil || p.EndAt != nil) {
				t.Errorf("got a vote from %v to %v, want no times", p.StartAt, p.EndAt)
			}
			f.start()
			env.Want(t, got, f.lacks(), "after a restart")
		})
	}
}

func TestALogOfAReplacedBlockIsNotNamed(t *testing.T) {
	t.Parallel()
	f := openPoll(t, "", created(1, 22, 60), fake.Emit(governorAddress, "Pondered(uint256)", 1, uint64(1)))
	if f.lacks() == "" {
		t.Fatal("got nothing, want the unknown event")
	}
	f.chain.Reorganize(3, []fake.Log{created(1, 22, 60)}, nil, nil, nil)
	if got := f.lacks(); strings.Contains(got, "logs of events") {
		t.Errorf("got %q after the block was replaced, want no event", got)
	}
}

func TestTheModeSaysWhatCountsTowardsTheQuorum(t *testing.T) {
	t.Parallel()
	for mode, want := range map[string]string{
		"support=bravo&quorum=bravo": "for: 4", "support=bravo&quorum=for,abstain": "for,abstain: 4",
		"support=bravo&quorum=for,members": "for: unknown", "support=bravo&quorum=turnout": ": unknown",
		"support=bravo&quorum=against,for,abstain": "for,against,abstain: 4", "support=bravo&quorum=for,abstain,against": "for,against,abstain: 4",
		"support=bravo&quorum=for%2Cabstain": "for,abstain: 4", "support=bravo&quorum=for": "for: 4", "support=bravo&quorum=against": "against: 4",
	} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			f := openPoll(t, mode, created(1, 22, 60))
			f.chain.Answer(governorAddress, "quorum(uint256)", []any{uint64(22)}, uint64(4))
			f.Poll("state")
			p, _ := f.proposal("1")
			got := strings.Join(p.QuorumChoices, ",") + ": unknown"
			if p.Quorum != nil {
				got = strings.Join(p.QuorumChoices, ",") + ": " + p.Quorum.Shift(18).String()
			}
			if got != want || p.QuorumRaw != "4" {
				t.Errorf("got %s of %q, want %s", got, p.QuorumRaw, want)
			}
		})
	}
}

func most() *big.Int { return new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), 256), big.NewInt(1)) }

func (f *follower) ballots() map[string]record.Ballot {
	f.t.Helper()
	held := map[string]record.Ballot{}
	p, _ := f.proposal("1")
	env.MustDo(f.t, records.HeldBallots(f.t.Context(), f.warehouse, p.ProposalRef, func(b record.Ballot) error {
		held[b.Voter] = b
		return nil
	}))
	return held
}

func TestABallotThatCannotBeRepresentedIsHeldAndMarked(t *testing.T) {
	t.Parallel()
	one := decimal.New(5, -18)
	for name, c := range map[string]struct {
		mode string
		vote fake.Log
		want string
	}{
		"power near 2^256": {"", fake.Emit(governorAddress, votedEvent, 1, bob, uint64(1), uint64(1), most(), ""), `{"units":{"for":"` + most().String() + `"}}`},
		"parts beyond 2^128 that no power has": {
			"support=bravo&quorum=for&params=fractional",
			fake.Emit(governorAddress, votedEvent, 1, bob, uint64(1), uint64(0), new(big.Int).Lsh(big.NewInt(1), 200), ""),
			`{"units":{"against":"` + new(big.Int).Lsh(big.NewInt(1), 200).String() + `"}}`,
		},
		"a support that nobody knows": {"support=ranked", fake.Emit(governorAddress, votedEvent, 1, bob, uint64(1), uint64(2), uint64(7), ""), `{"support":{"2":"7"}}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := openPoll(t, c.mode, created(1, 22, 60), voted(ada, 1, 5), c.vote)
			held := f.ballots()
			got := held[string(bob)]
			if len(held) != 2 || got.ChoiceKey != record.Unreadable || got.RawChoice != c.want {
				t.Errorf("got %d ballots, %q for %s, want the ballot with its raw choice %s", len(held), got.RawChoice, got.ChoiceKey, c.want)
			}
			if ballot := held[string(ada)]; !strings.HasPrefix(c.mode, "support=ranked") && !ballot.Power.Equal(one) {
				t.Errorf("got power %s of the other ballot, want %s", ballot.Power, one)
			}
		})
	}
}

func TestACountThatCannotBeRepresentedKeepsTheProposal(t *testing.T) {
	t.Parallel()
	f := endedPoll(t)
	f.chain.Answer(governorAddress, "proposalVotes(uint256)", []any{uint64(1)}, uint64(3), most(), uint64(1))
	f.chain.Answer(governorAddress, "state(uint256)", []any{uint64(1)}, uint64(4))
	f.Poll("state", "state")
	p, known := f.proposal("1")
	if !known || len(p.StatedScores) > 0 || p.StatedScoresTotal != nil || p.Title == "" {
		t.Errorf("got known %t with scores %v, want the proposal without them", known, p.StatedScores)
	}
	env.WantPart(t, "count of proposal 1", f.lacks(), "what is lacking")
}

func TestARefusedItemOfASourceIsSomethingThatIsNotHeld(t *testing.T) {
	t.Parallel()
	f := atTip(t)
	source := f.upstream.Sources()[0]
	other := record.SourceRef{Provider: governance.Governor, ID: source.ID + "0"}
	env.MustDo(t, records.WriteFollowRejects(t.Context(), f.warehouse, []records.FollowReject{
		{Upstream: f.upstream.ID(), Provider: other.Provider, SourceID: other.ID, ItemID: "1", Reason: "cut", At: startOfFake()},
		{Upstream: f.upstream.ID(), ItemID: "2", Reason: "was not asked for", At: startOfFake()},
	}))
	env.Want(t, "", f.lacks(), "nothing: what was refused is of no source, or of another")
}
