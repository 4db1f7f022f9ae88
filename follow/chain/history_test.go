package chain_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"pnyx/clock"
	"pnyx/follow/chain"
	"pnyx/governance"
	"pnyx/test/env"
	polled "pnyx/test/upstream"
	fake "pnyx/test/upstream/chain"
	"pnyx/warehouse/record"
	"pnyx/warehouse/records"
)

// history is a Governor that lives at random: proposals, votes of every kind, ends and quorums that
// move with and without an event, upgrades, reorganizations.
type history struct {
	*follower

	random    *rand.Rand
	proposals []*lived
	seconds   bool
	fraction  uint64
	timelock  string
}

// lived is a proposal of a history; start and end are values of the clock that it began with.
type lived struct {
	id, start, end uint64
	seconds        bool
	// state is what the contract states, final a milestone that ended it.
	state, final uint64
}

const (
	statePending, stateActive, stateCanceled, stateSucceeded, stateQueued, stateExecuted = 0, 1, 2, 4, 5, 7
)

// now returns the value of the clock in the next block.
func (h *history) now(seconds bool) uint64 {
	number, _ := h.chain.Head()
	if seconds {
		return uint64(startOfFake().Add(time.Duration(number+1) * fake.BlockTime).Unix())
	}
	return number + 1
}

// unit is a block in values of the clock.
func unit(seconds bool) uint64 {
	if seconds {
		return uint64(fake.BlockTime / time.Second)
	}
	return 1
}

func (h *history) upTo(n int) uint64 { return uint64(h.random.IntN(n)) }

// live mines a block with some events, and now and then replaces the last ones.
func (h *history) live() {
	var logs []fake.Log
	for range h.random.IntN(3) {
		logs = append(logs, h.event()...)
	}
	h.mine(logs...)
	if number, _ := h.chain.Head(); h.random.IntN(12) > 0 || number < 30 {
		return
	}
	depth := 1 + h.random.IntN(3)
	instead := h.chain.Last(depth)
	for i, logs := range instead {
		instead[i] = slices.DeleteFunc(slices.Clone(logs), func(fake.Log) bool { return h.random.IntN(3) == 0 })
	}
	h.chain.Reorganize(depth, append(instead, nil)...)
}

// mine mines a block, as of which the contract states where each proposal is.
func (h *history) mine(logs ...fake.Log) {
	for _, p := range h.proposals {
		state, now := uint64(stateActive), h.now(p.seconds)
		switch {
		case p.final != 0:
			state = p.final
		case now <= p.start:
			state = statePending
		case now > p.end:
			state = stateSucceeded
		}
		if state != p.state {
			p.state = state
			h.chain.Change(governorAddress, "state(uint256)", []any{p.id}, state)
		}
	}
	h.chain.Mine(logs...)
}

func (h *history) event() []fake.Log {
	if len(h.proposals) == 0 || h.random.IntN(8) == 0 {
		return h.create()
	}
	p := h.proposals[h.random.IntN(len(h.proposals))]
	of := func(signature string, indexed int, values ...any) []fake.Log {
		return []fake.Log{fake.Emit(governorAddress, signature, indexed, values...)}
	}
	u := unit(p.seconds)
	switch h.random.IntN(14) {
	case 0:
		h.upgrade()
		return []fake.Log{upgraded()}
	case 1: // by an upgrade of a library that no log of the Governor states
		h.upgrade()
	case 2:
		h.fraction++
		for _, p := range h.proposals {
			h.chain.Change(governorAddress, "quorum(uint256)", []any{p.start}, 100*h.fraction)
		}
		return of("QuorumNumeratorUpdated(uint256,uint256)", 0, h.fraction-1, h.fraction)
	case 3:
		if p.state == stateActive && p.final == 0 {
			h.chain.Change(governorAddress, "quorumVotes(uint256)", []any{p.id}, 10+h.upTo(90))
		}
	case 4:
		if p.state == stateActive && p.final == 0 {
			p.end += u * (1 + h.upTo(5))
			h.chain.Change(governorAddress, "proposalDeadline(uint256)", []any{p.id}, p.end)
			if h.random.IntN(2) == 0 {
				return of("ProposalExtended(uint256,uint64)", 1, p.id, p.end)
			}
		}
	case 5:
		if p.final == 0 && p.state == stateSucceeded {
			p.final = stateQueued
			operation := fake.Hex(fake.Keccak(fmt.Sprint(p.id)))
			scheduled := fake.Emit(h.timelock, "CallScheduled(bytes32,uint256,address,uint256,bytes,bytes32,uint256)", 2,
				operation, uint64(0), ada, uint64(0), []byte{1}, fake.Hex("0x0"), uint64(60))
			return append([]fake.Log{scheduled}, of("ProposalQueued(uint256,uint256)", 0, p.id, p.end)...)
		}
	case 6:
		if p.final == stateQueued {
			p.final = stateExecuted
			if h.random.IntN(2) == 0 {
				return of("ProposalExecuted(uint256)", 0, p.id)
			}
			return []fake.Log{fake.Emit(h.timelock, "CallExecuted(bytes32,uint256,address,uint256,bytes)", 2,
				fake.Hex(fake.Keccak(fmt.Sprint(p.id))), uint64(0), ada, uint64(0), []byte{1})}
		}
	case 7:
		if p.final == 0 && h.random.IntN(3) == 0 {
			p.final = stateCanceled
			return of("ProposalCanceled(uint256)", 0, p.id)
		}
	case 8:
		if h.random.IntN(6) == 0 {
			return of("Pondered(uint256)", 1, p.id)
		}
	case 9:
		return of(votedInParts, 1, h.voter(), p.id, uint64(255), uint64(6), "", parts(1, 2, 3))
	default:
		return of(votedEvent, 1, h.voter(), p.id, h.upTo(3), h.upTo(1_000), "")
	}
	return nil
}

func (h *history) voter() fake.Hex { return fake.Hex(fmt.Sprintf("0xa%d", h.random.IntN(9))) }

func (h *history) create() []fake.Log {
	u := unit(h.seconds)
	start := h.now(h.seconds) + u*h.upTo(4)
	p := &lived{id: uint64(len(h.proposals) + 1), start: start, end: start + u*(3+h.upTo(20)), seconds: h.seconds, state: 99}
	h.proposals = append(h.proposals, p)
	h.chain.Change(governorAddress, "quorum(uint256)", []any{p.start}, 100*h.fraction)
	return []fake.Log{createdAt(p.id, p.start, p.end)}
}

func (h *history) upgrade() {
	h.seconds = h.random.IntN(2) == 0
	mode := map[bool]string{true: "mode=timestamp", false: "mode=blocknumber&from=default"}[h.seconds]
	counting := []string{"support=bravo&quorum=for", "support=bravo&quorum=for,abstain&params=fractional", "support=bravo&quorum=turnout"}
	h.chain.Change(governorAddress, "CLOCK_MODE()", nil, mode)
	h.chain.Change(governorAddress, "COUNTING_MODE()", nil, counting[h.random.IntN(3)])
	h.chain.Change(tokenAddress, "decimals()", nil, []uint64{0, 6, 18}[h.random.IntN(3)])
}

// present has the clock of the follower show the time of the head.
func (h *history) present() {
	number, _ := h.chain.Head()
	h.clock.Step(startOfFake().Add(time.Duration(number) * fake.BlockTime).Sub(h.clock.Now()))
}

// dump returns everything that is held of the Governor, as text by what it is.
func (f *follower) dump() map[string]string {
	f.t.Helper()
	f.lacks()
	held := map[string]string{"lacks": f.lacks()}
	note := func(key string, value any) {
		text := env.Must(json.MarshalIndent(value, "", " "))(f.t)
		held[key] = string(text)
	}
	refs := env.Must(records.AllProposals(f.t.Context(), f.warehouse))(f.t)
	all := env.Must(records.Proposals(f.t.Context(), f.warehouse, refs))(f.t)
	for _, p := range all {
		if p.Withdrawn {
			continue
		}
		p.ObservedAt = governance.Timestamp(0)
		note(p.ExternalID, p)
		env.MustDo(f.t, records.HeldBallots(f.t.Context(), f.warehouse, p.ProposalRef, func(b record.Ballot) error {
			note(b.VoteID, b)
			return nil
		}))
	}
	return held
}

func TestWhoFollowedLiveAndWhoStartsFromNothingHoldTheSame(t *testing.T) {
	t.Parallel()
	wantLiveAsFromNothing(t, 0)
}

func TestLongWhoFollowedLiveAndWhoStartsFromNothingHoldTheSame(t *testing.T) {
	t.Parallel()
	for seed := uint64(1); seed < 4; seed++ {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			wantLiveAsFromNothing(t, seed)
		})
	}
}

// wantLiveAsFromNothing follows a history live, and again from nothing, and compares what is held.
func wantLiveAsFromNothing(t *testing.T, seed uint64) {
	t.Helper()
	f := newFollower(t)
	f.chain.MineEmpty(20)
	f.clock = clock.Stepping(startOfFake())
	h := &history{follower: f, random: rand.New(rand.NewPCG(seed, 1)), fraction: 1, timelock: timelockAddress}
	h.present()
	f.start()
	f.Poll("backfill")
	for range 60 {
		h.live()
		h.present()
		if h.random.IntN(10) == 0 {
			f.start()
		}
		for _, poller := range []string{"tip", "final", "state"} {
			if h.random.IntN(3) > 0 {
				f.Poll(poller)
			}
		}
	}
	for range 120 { // the last votes end, and are counted
		h.mine()
	}
	h.present()
	live := f.dump()
	scratch := *f
	scratch.warehouse = env.Warehouse(t)
	scratch.start()
	env.WantSame(t, "who starts from nothing, and who followed live", scratch.dump(), live)
	if len(live) < 10 || !slices.ContainsFunc(slices.Collect(maps.Keys(live)), func(key string) bool { return strings.Contains(key, "/0x") }) {
		t.Errorf("got %d records, want proposals and ballots", len(live))
	}
}

const addedLater = "0x00000000000000000000000000000000000000dd"

// Blocks pass while a Governor is in no sources file, and other Governors of its chain are read on.
func TestAGovernorThatIsFollowedAgainLacksNothing(t *testing.T) {
	t.Parallel()
	f := newFollower(t)
	f.delegations = true
	f.chain.Create(addedLater, 1)
	f.chain.Create(tokenAddress, 1)
	f.chain.MineEmpty(30)
	both := append(f.governors, chain.Governor{Address: addedLater})
	f.governors = both
	f.start()
	f.Poll("tip", "backfill", "final")
	f.governors = both[1:]
	f.start()
	f.chain.Mine(created(1, 32, 1_000), delegateTo(account(1), account(2)))
	f.chain.MineEmpty(2 * fakeFinality)
	f.Poll("tip", "backfill", "final")
	f.governors = both
	f.start()
	f.Poll("tip")
	env.Want(t, governance.SourceBackfilling, f.Journal.Cursor(f.upstream.Sources()[0], "backfill").State, "before the blocks are read")
	f.Poll("backfill", "final")
	env.Want(t, 1, len(env.Must(records.AllProposals(t.Context(), f.warehouse))(t)), "proposals of the Governor that is back")
	f.wantDelegations()
	asked := f.chain.Calls("eth_getLogs")
	f.start()
	f.Poll("backfill")
	env.Want(t, asked, f.chain.Calls("eth_getLogs"), "requests for logs after another start", "as before")
}

func TestASpaceThatIsAddedLaterHasItsDelegations(t *testing.T) {
	t.Parallel()
	f := newFollower(t)
	f.delegations, f.registries = true, []chain.Registry{{Address: registryAddress, Spaces: []string{"a.eth"}}}
	f.chain.Create(registryAddress, 1)
	f.chain.Mine(inSpace("dao.eth", account(1), account(2)), inSpace("a.eth", account(3), account(2)))
	f.chain.MineEmpty(2 * fakeFinality)
	f.start()
	f.Poll("tip", "backfill", "final")
	f.registries[0].Spaces = []string{"a.eth", "dao.eth"}
	f.start()
	f.Poll("tip", "backfill", "final")
	f.wantDelegations()
}

// A process ends when records and cursor are written, before what the contract said is.
func TestAProposalIsAskedAboutAfterAnyInterruption(t *testing.T) {
	t.Parallel()
	f := newFollower(t)
	f.chain.Answer(governorAddress, "state(uint256)", []any{uint64(1)}, uint64(1))
	f.chain.Mine(created(1, 2, 1_000))
	f.chain.MineEmpty(2 * fakeFinality)
	f.start()
	f.Poll("tip")
	ctx, end := context.WithCancel(t.Context())
	f.warehouse.OnCommit(func(context.Context) { end() })
	env.WantError(t, context.Canceled, f.TryPoll(ctx, "backfill"), "the end of the process")
	f.warehouse.OnCommit(nil)
	cursor := f.Journal.Cursor(f.upstream.Sources()[0], "backfill") // which a process writes when it ends
	env.MustDo(t, records.WriteFollowCursors(t.Context(), f.warehouse, []records.FollowCursor{cursor}))
	f.start()
	f.Poll("tip", "backfill", "final")
	f.chain.Answer(governorAddress, "state(uint256)", []any{uint64(1)}, uint64(3))
	f.Poll("state")
	p, _ := f.proposal("1")
	env.Want(t, "defeated", p.State, "state")
}

func TestANodeThatAnswersNullForOldCodeHoldsUpNothing(t *testing.T) {
	t.Parallel()
	for name, first := range map[string]*uint64{"without a first block": nil, "with one": new(uint64(1))} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFollower(t)
			f.governors[0].FirstBlock = first
			f.chain.Mine(created(1, 2, 1_000))
			f.chain.MineEmpty(2 * fakeFinality)
			lying := &env.Tamper{Honest: f.chain}
			lying.Answer(`{"jsonrpc":"2.0","id":1,"result":null}`, "eth_getCode")
			f.endpoints = []http.Handler{lying}
			f.start()
			f.Poll("tip", "backfill")
			if _, known := f.proposal("1"); !known {
				t.Error("the past is not read")
			}
		})
	}
}

func TestAnotherEndpointIsAskedForOldCode(t *testing.T) {
	t.Parallel()
	f := newFollower(t)
	f.chain.Create(governorAddress, 15)
	f.chain.MineEmpty(4 * fakeFinality)
	pruned := f.chain.AnotherEndpoint()
	pruned.Fail(fake.Faults{Pruned: true})
	f.endpoints = []http.Handler{pruned, f.chain}
	f.start()
	f.Poll("tip", "backfill")
	env.Want(t, uint64(15), f.Journal.Cursor(f.upstream.Sources()[0], "backfill").Covered[0].First, "first block")
}

func TestAGovernorThatCannotBeAskedHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	f := newFollower(t)
	f.chain.Create(addedLater, 1)
	f.governors = append([]chain.Governor{{Address: addedLater}}, f.governors...)
	other := created(1, 2, 1_000)
	other.Address = addedLater
	for _, address := range []string{addedLater, governorAddress} {
		f.chain.Answer(address, "state(uint256)", []any{uint64(1)}, uint64(1))
	}
	f.chain.Mine(created(1, 2, 1_000), other)
	f.chain.MineEmpty(2 * fakeFinality)
	f.start()
	f.Poll("tip", "backfill", "final")
	f.chain.Fail(fake.Faults{Aborts: addedLater})
	f.chain.Answer(governorAddress, "state(uint256)", []any{uint64(1)}, uint64(3))
	f.FailPoll("state", "")
	p, _ := f.proposal("1")
	env.Want(t, "defeated", p.State, "state at the other Governor")
}

// Another process reads the log of a change while this one does not lead.
func TestAProcessThatLeadsAgainAsksWhatChanged(t *testing.T) {
	t.Parallel()
	f := newFollower(t)
	const timelock = "0x00000000000000000000000000000000000000bc"
	f.chain.MineEmpty(2 * fakeFinality)
	f.start()
	f.Poll("tip", "backfill", "final")
	first := f.upstream
	f.chain.Change(governorAddress, "timelock()", nil, fake.Hex(timelock))
	f.chain.Mine(fake.Emit(governorAddress, "TimelockChange(address,address)", 0, fake.Hex(timelockAddress), fake.Hex(timelock)))
	f.chain.MineEmpty(2 * fakeFinality)
	f.start()
	f.Poll("tip", "final")
	f.Polled = polled.Follow(t, f.warehouse, first, nil)
	f.chain.Mine(fake.Emit(timelock, "CallExecuted(bytes32,uint256,address,uint256,bytes)", 2, fake.Hex("0x01"), uint64(0), ada, uint64(0), []byte{}))
	f.Poll("tip")
	env.Want(t, 1, len(env.Must(records.TimelockLogs(t.Context(), f.warehouse, fakeChain, governorAddress))(t)), "logs of the new timelock")
}
