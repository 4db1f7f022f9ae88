package chain_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"pnyx/test/env"
	fake "pnyx/test/upstream/chain"
)

// upgraded is the log of a proxy whose code was replaced.
func upgraded() fake.Log {
	return fake.Emit(governorAddress, "Upgraded(address)", 1, fake.Hex("0xee"))
}

// createdAt is a proposal with an id of its own.
func createdAt(id, start, end uint64) fake.Log {
	return fake.Emit(governorAddress, createdEvent, 0, id, ada, nil, nil, nil, nil, start, end, "Proposal")
}

// upgradedPoll is a chain whose Governor was upgraded after proposal 1: it counts blocks before, and
// seconds after; those in favour before, and with abstentions after; with 18 decimals before, and
// with 6 after; without parts before, and in parts after.
func upgradedPoll(t *testing.T, log fake.Log) *follower {
	t.Helper()
	f := newFollower(t)
	f.chain.Answer(governorAddress, "COUNTING_MODE()", nil, "support=bravo&quorum=for")
	f.chain.MineEmpty(20)
	f.chain.Mine(createdAt(1, 22, 30))
	f.chain.Mine(fake.Emit(governorAddress, votedInParts, 1, ada, uint64(1), uint64(1), uint64(3e6), "", parts(1e6, 1e6, 1e6)))
	f.chain.MineEmpty(20)
	f.chain.Change(governorAddress, "COUNTING_MODE()", nil, "support=bravo&quorum=for,abstain&params=fractional")
	f.chain.Change(governorAddress, "CLOCK_MODE()", nil, "mode=timestamp&from=default")
	f.chain.Change(tokenAddress, "decimals()", nil, uint64(6))
	f.chain.Mine(log)
	at := uint64(startOfFake().Add(50 * fake.BlockTime).Unix())
	f.chain.Mine(createdAt(2, at, at+60))
	f.chain.Mine(fake.Emit(governorAddress, votedInParts, 1, ada, uint64(2), uint64(1), uint64(3e6), "", parts(1e6, 1e6, 1e6)))
	f.chain.MineEmpty(40)
	return f
}

// wantRules fails the test unless both proposals of an upgraded poll have the rules of their blocks.
func (f *follower) wantRules() {
	f.t.Helper()
	at := func(block int) time.Time { return startOfFake().Add(time.Duration(block) * fake.BlockTime) }
	for id, c := range map[string]struct {
		start, end time.Time
		counted    []string
		power      [3]int64
	}{
		"1": {at(22), at(30), []string{"for"}, [3]int64{3e6, 0, 0}},
		"2": {at(50), at(55), []string{"for", "abstain"}, [3]int64{1e18, 1e18, 1e18}},
	} {
		p, _ := f.proposal(id)
		power, _ := f.power(id)
		if p.StartAt == nil || !p.StartAt.Time().Equal(c.start) || p.EndAt == nil || !p.EndAt.Time().Equal(c.end) ||
			!slices.Equal(p.QuorumChoices, c.counted) || power != c.power {
			f.t.Errorf("proposal %s: got %v to %v, quorum of %v, power %v, want %+v", id, p.StartAt, p.EndAt, p.QuorumChoices, power, c)
		}
	}
}

func TestAProposalHasTheRulesOfItsBlock(t *testing.T) {
	t.Parallel()
	for name, log := range map[string]fake.Log{
		"a proxy is upgraded":        upgraded(),
		"a delegator is":             fake.Emit(governorAddress, "NewImplementation(address,address)", 0, fake.Hex("0x1"), fake.Hex("0x2")),
		"a module, without an event": fake.Emit(governorAddress, "Paused(address)", 0, ada),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := upgradedPoll(t, log)
			f.start()
			f.Poll("tip", "backfill", "final", "state")
			f.wantRules()
			f.start()
			f.Poll("tip", "backfill", "final", "state")
			f.wantRules()
		})
	}
}

func TestRulesOfABlockWhoseStateIsGoneAreNotGuessedAcrossAnUpgrade(t *testing.T) {
	t.Parallel()
	f := upgradedPoll(t, upgraded())
	f.chain.Answer(governorAddress, "quorum(uint256)", []any{uint64(22)}, uint64(4))
	f.chain.Fail(fake.Faults{Pruned: true})
	f.start()
	f.Poll("tip", "backfill", "final", "state")
	p, _ := f.proposal("1")
	if want := startOfFake().Add(22 * fake.BlockTime); p.StartAt == nil || !p.StartAt.Time().Equal(want) {
		t.Errorf("got start %v, want %v: the value is the number of a block", p.StartAt, want)
	}
	if p.Quorum != nil {
		t.Errorf("got quorum %v, want none: the contract has changed since", p.Quorum)
	}
}

func TestAQuorumOfABlockWhoseStateIsGoneIsNotGuessedAcrossAChange(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		live bool
		want string
	}{"who saw it": {true, "4"}, "who comes later": {false, ""}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFollower(t)
			f.chain.MineEmpty(20)
			f.start()
			if c.live {
				f.Poll("tip", "backfill", "final")
			}
			f.chain.Mine(createdAt(1, 22, 30))
			f.chain.Change(governorAddress, "quorum(uint256)", []any{uint64(22)}, uint64(4))
			f.chain.Change(governorAddress, "state(uint256)", []any{uint64(1)}, uint64(1))
			f.chain.MineEmpty(3)
			f.chain.Fail(fake.Faults{Pruned: true})
			if c.live {
				f.Poll("tip", "state")
			}
			f.chain.MineEmpty(20)
			f.chain.Change(governorAddress, "quorum(uint256)", []any{uint64(22)}, uint64(8))
			f.chain.Change(governorAddress, "state(uint256)", []any{uint64(1)}, uint64(4))
			f.chain.Mine(fake.Emit(governorAddress, "QuorumNumeratorUpdated(uint256,uint256)", 0, uint64(4), uint64(8)))
			f.chain.MineEmpty(20)
			f.start()
			f.Poll("tip", "backfill", "final", "state")
			if p, known := f.proposal("1"); !known || p.QuorumRaw != c.want {
				t.Errorf("got quorum %q (held %t), want %q", p.QuorumRaw, known, c.want)
			}
		})
	}
}

func TestRulesArriveLaterWhereTheEndpointIsBehind(t *testing.T) {
	t.Parallel()
	f := newFollower(t)
	f.chain.MineEmpty(20)
	f.start()
	f.Poll("tip", "backfill")
	f.chain.Mine(createdAt(1, 22, 60))
	f.chain.Mine(voted(ada, 1, 5e6))
	f.chain.Change(tokenAddress, "decimals()", nil, uint64(6)) // of the block after
	f.chain.Fail(fake.Faults{NoState: 21})
	f.start()
	f.Poll("tip")
	if got, _ := f.power("1"); got[0] != 5e18 {
		t.Errorf("got power %v, want the ballot with the decimals of the head", got)
	}
	f.chain.Fail(fake.Faults{})
	f.Poll("state")
	if got, _ := f.power("1"); got[0] != 5e6 {
		t.Errorf("got power %v, want that with the decimals of the block", got)
	}
}

func TestTheQuorumIsThatOfTheEnd(t *testing.T) {
	t.Parallel()
	for name, mode := range map[string]string{"in blocks": "mode=blocknumber&from=default", "in seconds": "mode=timestamp"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFollower(t)
			start, end := uint64(22), uint64(30)
			if strings.HasSuffix(mode, "timestamp") {
				start, end = uint64(startOfFake().Add(22*fake.BlockTime).Unix()), uint64(startOfFake().Add(30*fake.BlockTime).Unix())
			}
			f.chain.Answer(governorAddress, "CLOCK_MODE()", nil, mode)
			f.chain.MineEmpty(20)
			f.chain.Mine(createdAt(1, start, end))
			for _, quorum := range []uint64{10, 20, 30} { // in blocks 22, 27, 32
				f.chain.Change(governorAddress, "quorum(uint256)", []any{start}, quorum)
				f.chain.MineEmpty(5)
			}
			f.chain.MineEmpty(20)
			f.start()
			f.Poll("tip", "backfill", "final", "state")
			if p, _ := f.proposal("1"); p.QuorumRaw != "20" {
				t.Errorf("got quorum %q, want 20 as of the end", p.QuorumRaw)
			}
			asked := f.chain.Calls("eth_call")
			f.Poll("state")
			env.Want(t, asked, f.chain.Calls("eth_call"), "calls, and none more")
		})
	}
}
