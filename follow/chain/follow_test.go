package chain_test

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/shopspring/decimal"

	"pnyx/clock"
	"pnyx/fetch"
	"pnyx/follow"
	"pnyx/follow/chain"
	"pnyx/governance"
	"pnyx/test/env"
	polled "pnyx/test/upstream"
	fake "pnyx/test/upstream/chain"
	"pnyx/warehouse"
	"pnyx/warehouse/counts"
	"pnyx/warehouse/record"
	"pnyx/warehouse/records"
)

const (
	fakeChain       = 7
	timelockAddress = "0x00000000000000000000000000000000000000bb"
	tokenAddress    = "0x00000000000000000000000000000000000000cc"
	// fakeFinality is the depth at which a block of the fake chain is final.
	fakeFinality = 10
)

// startOfFake is the time of the first block, long enough ago that no vote is to come.
func startOfFake() time.Time { return time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC) }

// follower follows a chain into a warehouse of its own.
type follower struct {
	polled.Polled

	t         *testing.T
	chainID   uint64
	chain     *fake.Chain
	warehouse *warehouse.Warehouse
	upstream  *chain.Chain
	endpoints []http.Handler
	// urls are further endpoints.
	urls []string
	// clockEndpoints are endpoints of the chain whose blocks the Governor's clock counts.
	clockEndpoints []http.Handler
	governors      []chain.Governor
	// delegations has tokens followed, further ones among them, and registries are followed too.
	delegations bool
	registries  []chain.Registry
	tokens      []string
	// nameRegistry has names read.
	nameRegistry string
	finality     uint64
	clock        *clock.Clock
}

// newFollower makes a chain with a Governor whose token has 18 decimals.
func newFollower(t *testing.T) *follower {
	t.Helper()
	c := fake.New(fakeChain, startOfFake(), fakeFinality)
	c.Create(governorAddress, 1)
	c.Answer(governorAddress, "name()", nil, "Harbor Governor")
	c.Answer(governorAddress, "COUNTING_MODE()", nil, "support=bravo&quorum=for,abstain")
	c.Answer(governorAddress, "token()", nil, fake.Hex(tokenAddress))
	c.Answer(governorAddress, "timelock()", nil, fake.Hex(timelockAddress))
	c.Answer(tokenAddress, "decimals()", nil, uint64(18))
	c.Answer(tokenAddress, "symbol()", nil, "HRB")
	return &follower{
		t: t, chainID: fakeChain, chain: c, warehouse: env.Warehouse(t), endpoints: []http.Handler{c}, governors: []chain.Governor{{Address: governorAddress}},
	}
}

func (f *follower) start() {
	f.t.Helper()
	client := fetch.New(fetch.Options{UserAgent: "test", Clock: f.clock, Logger: slog.New(slog.DiscardHandler)})
	options := chain.Options{
		ChainID: f.chainID, Clock: f.clock, Governors: f.governors, Delegations: f.delegations, Registries: f.registries, Tokens: f.tokens, NameRegistry: f.nameRegistry, Finality: f.finality, Logger: slog.New(slog.DiscardHandler), Metrics: prometheus.NewRegistry(),
	}
	hosts := func(endpoints []http.Handler, urls ...string) (hosts []*fetch.Host) {
		for _, endpoint := range endpoints {
			server := httptest.NewServer(endpoint)
			f.t.Cleanup(server.Close)
			urls = append(urls, server.URL)
		}
		for _, text := range urls {
			address := env.Must(url.Parse(text))(f.t)
			hosts = append(hosts, client.Host(address, fetch.Pace{Requests: 10_000, Burst: 1_000, Per: time.Second}))
		}
		return hosts
	}
	options.Endpoints, options.ClockEndpoints, options.ClockChainID = hosts(f.endpoints, f.urls...), hosts(f.clockEndpoints), 1
	f.upstream = chain.New(options)
	f.Polled = polled.Follow(f.t, f.warehouse, f.upstream, nil)
}

// proposal returns a proposal; known is false for one that is not held or is withdrawn.
func (f *follower) proposal(id string) (p records.Proposal, known bool) {
	f.t.Helper()
	found := env.Must(records.Proposals(f.t.Context(), f.warehouse, []record.RefHash{f.ref(id)}))(f.t)
	if len(found) == 0 || found[0].Withdrawn {
		return p, false
	}
	return found[0], true
}

func (*follower) ref(id string) record.RefHash {
	return record.ProposalRef{
		Provider: governance.Governor, ExternalID: chain.SourceID(fakeChain, governorAddress) + "/" + id,
	}.Hash()
}

// power returns the power of the ballots on a proposal in smallest units, for, against and
// abstaining, and the number of ballots.
func (f *follower) power(id string) (units [3]int64, votes uint64) {
	f.t.Helper()
	totals := env.Must(counts.VoteTotalsOf(f.t.Context(), f.warehouse, []record.RefHash{f.ref(id)}))(f.t)
	of := totals[f.ref(id)]
	for i, side := range []string{governance.GovernorFor, governance.GovernorAgainst, governance.GovernorAbstain} {
		units[i] = of.Choices[side].Power.Shift(18).IntPart()
	}
	return units, of.Votes
}

// wantPower fails the test unless the ballots on proposal 1 are as wanted.
func (f *follower) wantPower(want [3]int64, wantVotes uint64) {
	f.t.Helper()
	if got, votes := f.power("1"); got != want || votes != wantVotes {
		f.t.Errorf("got power %v of %d ballots, want %v of %d", got, votes, want, wantVotes)
	}
}

// atTip returns a follower that has read a chain of twenty blocks without logs to its tip.
func atTip(t *testing.T) *follower {
	t.Helper()
	f := newFollower(t)
	f.chain.MineEmpty(20)
	f.start()
	f.Poll("tip")
	return f
}

// withVote is atTip with a proposal and a vote in blocks that are not read.
func withVote(t *testing.T) *follower {
	t.Helper()
	f := atTip(t)
	f.chain.Mine(created(1, 22, 1_000))
	f.chain.Mine(voted(ada, 1, 500))
	return f
}

func (f *follower) count(of func(records.FollowCursor) uint64) (sum uint64) {
	f.t.Helper()
	cursors := env.Must(records.FollowCursors(f.t.Context(), f.warehouse, ""))(f.t)
	for _, cursor := range cursors {
		sum += of(cursor)
	}
	return sum
}

func gaps(c records.FollowCursor) uint64 { return c.Gaps }

func created(id, start, end uint64) fake.Log {
	return fake.Emit(governorAddress, createdEvent, 0, id, ada, nil, nil, nil, nil, start, end, "# Dredge the channel\n\nAll of it.")
}

func voted(voter fake.Hex, support, power uint64) fake.Log {
	return fake.Emit(governorAddress, votedEvent, 1, voter, uint64(1), support, power, "")
}

func TestAVoteShowsAfterItsBlockAndIsProvisionalUntilItIsFinal(t *testing.T) {
	t.Parallel()
	f := withVote(t)
	f.Poll("tip")
	f.wantPower([3]int64{500, 0, 0}, 1)
	got, _ := f.proposal("1")
	if !got.Provisional || !strings.HasPrefix(got.Origin, "eip155:7 block 21 0x") || got.Title != "Dredge the channel" {
		t.Errorf("got title %q, provisional %t, origin %q", got.Title, got.Provisional, got.Origin)
	}
	f.chain.MineEmpty(2 * fakeFinality)
	f.Poll("tip", "final")
	if got, _ := f.proposal("1"); got.Provisional {
		t.Error("got a provisional proposal although its blocks are final")
	}
	env.Want(t, 0, f.count(gaps), "gaps")
}

func TestReorganizationsWithdrawWhatTheyRemove(t *testing.T) {
	t.Parallel()
	f := atTip(t)
	f.chain.Mine(created(1, 22, 1_000))
	f.chain.Mine(voted(ada, 1, 500), voted(bob, 1, 7))
	f.chain.Mine(created(2, 30, 1_000))
	f.Poll("tip")
	f.chain.Reorganize(2, []fake.Log{voted(ada, 0, 500)}, nil, nil)
	f.Poll("tip")
	f.wantPower([3]int64{0, 500, 0}, 1)
	if _, known := f.proposal("2"); known {
		t.Error("proposal 2 shows although its block was replaced")
	}
	env.Want(t, 1, f.count(func(c records.FollowCursor) uint64 { return c.Reorgs }), "reorganizations")
}

func TestAReorganizationBackToTheOldBranchRestoresItsVotes(t *testing.T) {
	t.Parallel()
	f := withVote(t)
	f.Poll("tip")
	old := f.chain.Branch()
	f.chain.Reorganize(1, nil, nil)
	other := f.chain.Branch()
	for range 2 {
		other()
		f.chain.Mine()
		f.Poll("tip")
		f.wantPower([3]int64{}, 0)
		old()
		f.chain.MineEmpty(2)
		f.Poll("tip")
		f.wantPower([3]int64{500, 0, 0}, 1)
	}
}

func TestAReorganizationDuringAStandstillIsFoundAtTheStart(t *testing.T) {
	t.Parallel()
	f := withVote(t)
	f.Poll("tip")
	f.chain.Reorganize(1, []fake.Log{voted(bob, 1, 9)}, nil)
	f.start()
	f.Poll("tip")
	f.wantPower([3]int64{9, 0, 0}, 1)
}

func TestTheHeadMayGoBackWithoutAReorganization(t *testing.T) {
	t.Parallel()
	for name, back := range map[string]func(*fake.Chain){
		"to another backend":          func(c *fake.Chain) { c.Fail(fake.Faults{HeadBack: 3}) },
		"to one that lacks the tip":   func(c *fake.Chain) { c.Fail(fake.Faults{Lacks: 3}) },
		"and the node goes back, too": func(c *fake.Chain) { c.Shrink(1) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := withVote(t)
			f.chain.Mine()
			f.Poll("tip")
			back(f.chain)
			f.Poll("tip")
			f.wantPower([3]int64{500, 0, 0}, 1)
			f.chain.Fail(fake.Faults{})
			f.chain.MineEmpty(2)
			f.Poll("tip")
			env.Want(t, 0, f.count(func(c records.FollowCursor) uint64 { return c.Reorgs + c.Withdrawn }), "reorganizations and withdrawals")
		})
	}
}

func TestAReplacedFinalBlockStopsThePollersUntilAPersonDecides(t *testing.T) {
	t.Parallel()
	f := atTip(t)
	f.chain.Reorganize(15, slices.Repeat([][]fake.Log{nil}, 40)...)
	for _, poller := range []string{"tip", "final"} {
		env.WantError(t, follow.ErrStopped, f.TryPoll(f.t.Context(), poller), poller, "the poller to stop")
	}
}

func TestTheSecondLookMendsWhatTheFirstMissedAndCountsIt(t *testing.T) {
	t.Parallel()
	f := atTip(t)
	f.chain.Fail(fake.Faults{Forget: func(number uint64) bool { return number == 22 }})
	f.chain.Mine(created(1, 22, 1_000))
	f.chain.Mine(voted(ada, 1, 500))
	f.chain.MineEmpty(2 * fakeFinality)
	f.Poll("tip")
	f.wantPower([3]int64{}, 0)
	f.chain.Fail(fake.Faults{})
	f.Poll("final")
	f.wantPower([3]int64{500, 0, 0}, 1)
	env.Want(t, 1, f.count(gaps), "gaps")
}

func TestASecondLookThatMissesALogRemovesNothing(t *testing.T) {
	t.Parallel()
	f := withVote(t)
	f.chain.MineEmpty(2 * fakeFinality)
	f.Poll("tip")
	f.chain.Fail(fake.Faults{Forget: func(number uint64) bool { return number == 22 }})
	f.Poll("final")
	f.wantPower([3]int64{500, 0, 0}, 1)
}

func TestPartsOfAVoteAddUpAndReductionsSubtract(t *testing.T) {
	t.Parallel()
	f := atTip(t)
	part := func(against, inFavour, abstain int64) fake.Log {
		return fake.Emit(governorAddress, votedInParts, 1, ada, uint64(1), uint64(255), uint64(against+inFavour+abstain), "part", parts(against, inFavour, abstain))
	}
	f.chain.Mine(created(1, 22, 1_000))
	f.chain.Mine(part(10, 20, 0), part(0, 1, 2))
	f.chain.Mine(voted(ada, 1, 100), voted(bob, 0, 50))
	f.chain.Mine(
		fake.Emit(governorAddress, reducedEvent, 1, bob, uint64(1), uint64(0), uint64(8)),
		fake.Emit(governorAddress, overriddenVote, 1, fake.Hex("0xd4"), uint64(1), uint64(1), uint64(8), "mine"))
	f.Poll("tip")
	f.wantPower([3]int64{129, 52, 2}, 3)
}

func TestMilestonesAreASetAndTheEndIsData(t *testing.T) {
	t.Parallel()
	f := atTip(t)
	canceled := fake.Emit(governorAddress, "ProposalCanceled(uint256)", 0, uint64(1))
	f.chain.Mine(created(1, 22, 30))
	f.chain.Mine(fake.Emit(governorAddress, "ProposalExtended(uint256,uint64)", 1, uint64(1), uint64(40)))
	f.chain.Mine(canceled)
	f.chain.Mine(canceled)
	f.chain.MineEmpty(30)
	f.Poll("tip", "state")
	got, _ := f.proposal("1")
	var types []string
	for _, m := range got.Milestones {
		types = append(types, m.Type)
	}
	if !slices.Equal(types, []string{"extended", "canceled"}) || got.State != "canceled" {
		t.Errorf("got milestones %v in state %s, want extended and canceled once", types, got.State)
	}
	if want := startOfFake().Add(40 * fake.BlockTime); got.EndAt == nil || !got.EndAt.Time().Equal(want) {
		t.Errorf("got end %v, want %v", got.EndAt, want)
	}
}

func TestAProposalExecutedAroundTheGovernorIsFoundAndDated(t *testing.T) {
	t.Parallel()
	f := atTip(t)
	operation := fake.Hex(fake.Keccak("an operation"))
	f.chain.Mine(created(1, 22, 23))
	f.chain.Answer(governorAddress, "state(uint256)", []any{uint64(1)}, uint64(5))
	f.chain.Mine(
		fake.Emit(timelockAddress, "CallScheduled(bytes32,uint256,address,uint256,bytes,bytes32,uint256)", 2,
			operation, uint64(0), ada, uint64(0), []byte{1}, fake.Hex("0x0"), uint64(60)),
		fake.Emit(governorAddress, "ProposalQueued(uint256,uint256)", 0, uint64(1), uint64(99)))
	f.Poll("tip")
	if got, _ := f.proposal("1"); got.State != "queued" {
		t.Fatalf("got state %s, want queued", got.State)
	}
	executedIn := f.chain.Mine(fake.Emit(timelockAddress, "CallExecuted(bytes32,uint256,address,uint256,bytes)", 2,
		operation, uint64(0), ada, uint64(0), []byte{1}))
	f.chain.Answer(governorAddress, "state(uint256)", []any{uint64(1)}, uint64(7))
	f.Poll("tip", "state")
	got, _ := f.proposal("1")
	at := startOfFake().Add(time.Duration(executedIn) * fake.BlockTime)
	last := got.Milestones[len(got.Milestones)-1]
	if got.State != "executed" || last.Type != "executed" || last.At == nil || !last.At.Time().Equal(at) {
		t.Errorf("got state %s and milestone %+v, want executed at %v", got.State, last, at)
	}
}

func TestTimesOfBlocksToComeAreEstimatedAndTheQuorumIsReadOnceTheStartIsPast(t *testing.T) {
	t.Parallel()
	f := atTip(t)
	f.chain.Mine(created(1, 30, 40))
	for _, at := range []struct {
		blocks int
		quorum *decimal.Decimal
	}{{0, nil}, {60, new(decimal.New(4_000, -18))}} {
		f.chain.MineEmpty(at.blocks)
		f.Poll("tip", "state")
		got, _ := f.proposal("1")
		if want := startOfFake().Add(40 * fake.BlockTime); got.EndAt == nil || !got.EndAt.Time().Equal(want) {
			t.Errorf("%d blocks later: got end %v, want %v", at.blocks, got.EndAt, want)
		}
		if diff := gocmp.Diff(at.quorum, got.Quorum); diff != "" || !slices.Equal(got.QuorumChoices, []string{"for", "abstain"}) {
			t.Errorf("%d blocks later: got another quorum of %v: %s", at.blocks, got.QuorumChoices, diff)
		}
		f.chain.Answer(governorAddress, "quorum(uint256)", []any{uint64(30)}, uint64(4_000))
	}
}

func aboveSeven(refusal fake.Refusal) fake.Faults {
	return fake.Faults{Logs: func(first, last uint64) *fake.Refusal {
		if last-first+1 <= 7 {
			return nil
		}
		return &refusal
	}}
}

func TestAPastIsReadTwiceWhateverTheEndpointRefuses(t *testing.T) {
	t.Parallel()
	for name, faults := range map[string]fake.Faults{
		"nothing": {},
		"batches": {Batches: `{"id":null,"error":{"code":-32600,"message":"batch requests are not allowed"}}`}, "batches, as geth does": {Batches: `[{"id":1,"error":{"code":-32600,"message":"batch limit exceeded"}}]`}, "the tag finalized": {NoFinal: true}, "times of logs": {NoTimes: true}, "old state": {Pruned: true},
		"ranges above 7 blocks":             aboveSeven(fake.Refusal{Status: http.StatusBadRequest, Code: -32602, Message: "exceed maximum block range: 7"}),
		"wide ranges, without a number":     aboveSeven(fake.Refusal{Code: -32005, Message: "block range too large"}),
		"wide ranges, in no words for them": aboveSeven(fake.Refusal{Code: -32602, Message: "invalid params"}),
		"two addresses at once":             {Addresses: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFollower(t)
			f.finality = fakeFinality
			f.chain.Create(governorAddress, 20)
			f.chain.Fail(faults)
			f.chain.MineEmpty(30)
			f.chain.Mine(created(1, 32, 1_000))
			for i := range uint64(40) {
				f.chain.Mine(voted(fake.Hex(fake.Keccak(name + string(rune(i))))[:42], i%3, i))
			}
			f.chain.MineEmpty(20)
			f.start()
			f.Poll("tip", "backfill", "final")
			f.wantPower([3]int64{247, 273, 260}, 40)
			cursor := f.Journal.Cursor(f.upstream.Sources()[0], "backfill")
			if cursor.State != governance.SourceLive || cursor.Done != cursor.Total || cursor.Total == 0 {
				t.Errorf("got state %s, %d of %d blocks, want all", cursor.State, cursor.Done, cursor.Total)
			}
			if first := cursor.Covered[0].First; !faults.Pruned && first != 20 || len(cursor.Covered) != 1 {
				t.Errorf("got covered %v, want one range from block 20", cursor.Covered)
			}
		})
	}
}

func TestABackfillFindsWhatAnAnswerCutSilently(t *testing.T) {
	t.Parallel()
	f := newFollower(t)
	f.chain.MineEmpty(30)
	f.chain.Mine(created(1, 32, 1_000))
	f.chain.Mine(voted(ada, 1, 500))
	f.chain.MineEmpty(20)
	cut := true
	f.chain.Fail(fake.Faults{Forget: func(number uint64) bool {
		if number != 32 || !cut {
			return false
		}
		cut = false
		return true
	}})
	f.start()
	f.Poll("tip", "backfill")
	f.wantPower([3]int64{500, 0, 0}, 1)
	env.Want(t, 1, f.count(gaps), "gaps")
}

func TestABackfillFindsWhatAnEndpointAlwaysCuts(t *testing.T) {
	t.Parallel()
	f := newFollower(t)
	f.chain.MineEmpty(300) // so that all votes are at the end of the range
	f.chain.Mine(created(1, 302, 1_000))
	for i := range uint64(40) {
		f.chain.Mine(voted(fake.Hex(fake.Keccak(string(rune(i))))[:42], 1, 1))
	}
	f.chain.MineEmpty(20)
	f.chain.Fail(fake.Faults{MaxLogs: 12})
	f.start()
	f.Poll("tip", "backfill")
	f.wantPower([3]int64{40, 0, 0}, 40)
}

func TestAGovernorThatIsAddedLaterIsBackfilledAlone(t *testing.T) {
	t.Parallel()
	const added = "0x00000000000000000000000000000000000000dd"
	f := newFollower(t)
	f.chain.Create(added, 1)
	f.chain.MineEmpty(30)
	other := created(1, 32, 1_000)
	other.Address = added
	f.chain.Mine(created(1, 32, 1_000))
	f.chain.Mine(other)
	f.chain.MineEmpty(20)
	f.start()
	f.Poll("tip", "backfill", "final")
	before := f.Journal.Cursor(f.upstream.Sources()[0], "backfill")
	f.governors = append(f.governors, chain.Governor{Address: added})
	f.start()
	f.Poll("tip", "backfill", "final")
	env.Want(t, 2, len(env.Must(records.AllProposals(t.Context(), f.warehouse))(t)), "proposals", "the same id on two Governors")
	if after := f.Journal.Cursor(f.upstream.Sources()[0], "backfill"); !slices.Equal(after.Covered, before.Covered) {
		t.Errorf("got covered %v, want %v as before", after.Covered, before.Covered)
	}
}

func TestAnEndpointThatFailsIsLeftForTheNext(t *testing.T) {
	t.Parallel()
	f := newFollower(t)
	refuse := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusForbidden) })
	f.endpoints = []http.Handler{refuse, f.chain}
	f.chain.MineEmpty(30)
	f.chain.Mine(created(1, 32, 1_000))
	f.start()
	f.Poll("tip", "backfill", "final", "state")
	if _, known := f.proposal("1"); !known {
		t.Error("proposal 1 is missing")
	}
}

func TestAnEndpointOfAnotherChainStopsThePollers(t *testing.T) {
	t.Parallel()
	f := newFollower(t)
	f.endpoints = []http.Handler{fake.New(fakeChain+1, startOfFake(), fakeFinality)}
	f.start()
	env.WantError(t, follow.ErrStopped, f.TryPoll(f.t.Context(), "tip"), "the poller to stop")
}

func TestASecondEndpointOfAnotherChainTakesNothingBack(t *testing.T) {
	t.Parallel()
	f := newFollower(t)
	other := fake.New(fakeChain+1, startOfFake(), fakeFinality)
	other.MineEmpty(60)
	f.endpoints = append(f.endpoints, other)
	f.chain.MineEmpty(20)
	f.start()
	f.Poll("tip", "backfill")
	f.chain.Mine(created(1, 22, 1_000))
	f.chain.Mine(voted(ada, 1, 500))
	f.chain.MineEmpty(2 * fakeFinality)
	f.Poll("tip", "final", "state")
	f.wantPower([3]int64{500, 0, 0}, 1)
	env.Want(t, 0, f.count(func(c records.FollowCursor) uint64 { return c.Gaps + c.Withdrawn }), "gaps and withdrawals")
	env.WantPart(t, "is of chain 8", f.upstream.Check(t.Context())[0].Problem, "problem")
}

func TestAttackABrokenLogIsRejectedAndCountedAndTheWalkGoesOn(t *testing.T) {
	t.Parallel()
	f := atTip(t)
	broken := voted(bob, 1, 7)
	broken.Data = broken.Data[:100]
	f.chain.Mine(created(1, 22, 1_000))
	f.chain.Mine(broken, voted(ada, 1, 500))
	f.chain.MineEmpty(2 * fakeFinality)
	f.Poll("tip", "final")
	f.wantPower([3]int64{500, 0, 0}, 1)
	env.Want(t, 1, env.Rejected(t, f.warehouse, f.upstream.Sources()[0]), "rejected logs")
}

func TestAttackATimelockThatEmitsVotesIsNotBelieved(t *testing.T) {
	t.Parallel()
	f := atTip(t)
	forged := voted(bob, 1, 7)
	forged.Address = timelockAddress
	f.chain.Mine(created(1, 22, 1_000), forged, voted(ada, 1, 500))
	f.Poll("tip")
	f.wantPower([3]int64{500, 0, 0}, 1)
}

func TestAWriteThatWasInterruptedIsCompleted(t *testing.T) {
	t.Parallel()
	f := withVote(t)
	// The logs are written, and then the contract cannot be asked: nothing is committed.
	f.chain.Fail(fake.Faults{NoCalls: true})
	f.FailPoll("tip", "")
	f.wantPower([3]int64{}, 0)
	f.chain.Fail(fake.Faults{})
	f.start()
	f.Poll("tip")
	f.wantPower([3]int64{500, 0, 0}, 1)
}

func TestPollersThatRunConcurrentlyEndInTheSameState(t *testing.T) {
	t.Parallel()
	f := newFollower(t)
	f.chain.MineEmpty(30)
	f.chain.Mine(created(1, 32, 1_000))
	for i := range uint64(20) {
		f.chain.Mine(voted(fake.Hex(fake.Keccak(string(rune(i))))[:42], i%3, 1))
	}
	f.start()
	pollers := []string{"tip", "final", "backfill", "state"}
	env.Concurrently(t, len(pollers), len(pollers), func(n int) error { // no poller runs twice at once
		for round := range 10 {
			if n == 0 {
				f.chain.Mine(voted(fake.Hex(fake.Keccak(string(rune(1_000 + round))))[:42], 1, 1))
			}
			if err := f.TryPoll(f.t.Context(), pollers[n]); err != nil {
				return err
			}
		}
		return nil
	})
	f.Poll("backfill", "tip", "final", "state")
	f.wantPower([3]int64{17, 7, 6}, 30)
}

func TestCheckSaysWhatTheContractIs(t *testing.T) {
	t.Parallel()
	f := newFollower(t)
	f.chain.MineEmpty(20)
	f.start()
	got := f.upstream.Check(t.Context())
	const want = "Governor Harbor Governor, token HRB with 18 decimals, quorum of for and abstain, timelock " + timelockAddress +
		", clock in blocks, head 20, final 10"
	if len(got) != 1 || got[0].Is != want || got[0].Problem != "" || got[0].RequestsPerDay == 0 {
		t.Errorf("got %+v, want %q", got, want)
	}
}

func (f *follower) tip() records.FollowCursor {
	f.Poll("tip")
	return f.Journal.Cursor(record.SourceRef{Provider: governance.Governor}, "tip")
}

func TestAHeadThatStandsStillIsBehind(t *testing.T) {
	t.Parallel()
	f := newFollower(t)
	// The fake chain has a block every 12 s of its own clock.
	f.clock = clock.Stepping(startOfFake().Add(31 * fake.BlockTime))
	f.chain.MineEmpty(30)
	f.start()
	env.Want(t, governance.SourceLive, f.tip().State, "at a fresh head", "live")
	f.clock.Step(2 * time.Minute)
	polled.WantState(t, governance.SourceBehind, "stands still", f.tip())
	f.chain.MineEmpty(10)
	polled.WantState(t, governance.SourceLive, "", f.tip())
}

func TestAnEndpointThatStandsStillIsLeftForAnother(t *testing.T) {
	t.Parallel()
	f := newFollower(t)
	f.clock = clock.Stepping(startOfFake().Add(45 * fake.BlockTime))
	stopped := fake.New(fakeChain, startOfFake(), fakeFinality)
	for _, c := range []*fake.Chain{stopped, f.chain} {
		c.MineEmpty(30)
	}
	f.chain.Mine(created(1, 50, 60))
	f.chain.MineEmpty(14)
	f.endpoints = []http.Handler{stopped, f.chain}
	f.start()
	f.Poll("tip", "tip")
	if _, known := f.proposal("1"); !known {
		t.Error("got no proposal, want the one that the second endpoint has")
	}
	env.Want(t, governance.SourceLive, f.Journal.Cursor(record.SourceRef{Provider: governance.Governor}, "tip").State)
}

func TestAHeadWithoutBlocksIsFailing(t *testing.T) {
	t.Parallel()
	f := newFollower(t)
	f.clock = clock.Stepping(startOfFake().Add(31 * fake.BlockTime))
	f.chain.MineEmpty(30)
	f.start()
	env.Want(t, governance.SourceLive, f.tip().State)
	f.chain.Fail(fake.Faults{Hollow: 30})
	for range 9 {
		f.chain.MineEmpty(1)
		f.clock.Step(fake.BlockTime)
		f.tip()
	}
	polled.WantState(t, governance.SourceFailing, "no endpoint has the blocks after 30", f.tip())
	f.chain.Fail(fake.Faults{})
	polled.WantState(t, governance.SourceLive, "", f.tip())
}

func TestAnEndpointIsAskedLessAfterALimit(t *testing.T) {
	t.Parallel()
	for name, refusal := range map[string]fake.Refusal{
		"by a code":                   {Code: 429, Message: "compute units exceeded"},
		"by a status":                 {Status: 429, Code: -32000, Message: "exceeded"},
		"by words":                    {Code: -32005, Message: "limit exceeded"},
		"an error that nobody knows":  {Code: -32099, Message: "exceeded"},
		"an internal error of a node": {Code: -32603, Message: "internal error"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFollower(t)
			f.clock = clock.Stepping(startOfFake().Add(31 * fake.BlockTime))
			f.chain.MineEmpty(30)
			f.start()
			f.Poll("tip")
			f.chain.Mine(voted(ada, 1, 500))
			f.chain.MineEmpty(7)
			var asked []uint64 // blocks
			f.chain.Fail(fake.Faults{Logs: func(first, last uint64) *fake.Refusal { asked = append(asked, last-first+1); return &refusal }})
			for range 30 {
				f.FailPoll("tip", "allows no more requests")
				f.clock.Step(time.Second)
			}
			want := []uint64{8, 4, 2} // what is no limit on the rate may be one on the range
			if name == "by a code" {
				want = []uint64{8, 8, 8}
			}
			if !slices.Equal(asked, want) {
				t.Errorf("got ranges of %d blocks in 30 s, want three requests %v", asked, want)
			}
		})
	}
}

func TestAFirstBlockThatIsTooLateLosesNothing(t *testing.T) {
	t.Parallel()
	f := newFollower(t)
	f.chain.Create(governorAddress, 3)
	f.governors[0].FirstBlock = new(uint64(15))
	f.chain.MineEmpty(4)
	f.chain.Mine(created(1, 10, 1_000))
	f.chain.MineEmpty(25)
	f.start()
	env.WantPart(t, "firstBlock 15 is too late", f.upstream.Check(t.Context())[0].Problem, "problem")
	f.Poll("tip", "backfill")
	if _, known := f.proposal("1"); !known {
		t.Error("the proposal before the block is missing")
	}
}

func TestATokenIsNoGovernor(t *testing.T) {
	t.Parallel()
	f := newFollower(t)
	const token = "0x00000000000000000000000000000000000000dd"
	f.governors = []chain.Governor{{Address: token}}
	f.chain.Answer(token, "name()", nil, "Dai Stablecoin")
	f.chain.Answer(token, "decimals()", nil, uint64(18))
	f.chain.MineEmpty(20)
	f.start()
	env.WantPart(t, "no Governor", f.upstream.Check(t.Context())[0].Problem, "problem")
}

func TestAQuorumThatNobodyCanReachKeepsTheProposal(t *testing.T) {
	t.Parallel()
	f := atTip(t)
	f.chain.Mine(created(1, 30, 40))
	f.chain.Answer(governorAddress, "quorum(uint256)", []any{uint64(30)}, most())
	f.chain.MineEmpty(20)
	f.Poll("tip", "state")
	got, known := f.proposal("1")
	if !known || got.Quorum != nil || got.QuorumRaw != most().String() {
		t.Errorf("got quorum %v, %q of a proposal (held %t), want it as published alone", got.Quorum, got.QuorumRaw, known)
	}
	f.Poll("tip", "state") // which writes what was refused
	source := record.SourceRef{Provider: governance.Governor, ID: chain.SourceID(fakeChain, governorAddress)}
	env.Want(t, 1, env.Rejected(t, f.warehouse, source), "refused items", "the quorum noted")
}
