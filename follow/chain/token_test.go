package chain_test

import (
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"pnyx/clock"
	"pnyx/follow/chain"
	"pnyx/governance/query"
	"pnyx/test/env"
	fake "pnyx/test/upstream/chain"
	"pnyx/warehouse/feed"
	"pnyx/warehouse/pages"
)

const (
	registryAddress = "0x469788fe6e9e9681c6ebf3bf78e7fd26fc015446"
	tokenScope      = "eip155:7:" + tokenAddress
	registryScope   = "eip155:7:" + registryAddress + "/"

	nobody          = "0x0000000000000000000000000000000000000000"
	delegateChanged = "DelegateChanged(address,address,address)"
	votesChanged    = "DelegateVotesChanged(address,uint256,uint256)"
	partsChanged    = "DelegateChanged(address,(address,uint96)[],(address,uint96)[])"
)

// stated is what a log of a token or a registry states, for its Note.
type stated struct {
	scope, holder string
	// delegates are those with their parts; power is a delegate's, and the holder the delegate.
	delegates []string
	power     string
}

func account(n int) fake.Hex { return fake.Hex(fmt.Sprintf("0x%040x", 0xa0+n)) }

func spaceID(space string) fake.Hex {
	return fake.Hex("0x" + hex.EncodeToString([]byte(space)) + strings.Repeat("00", 32-len(space)))
}

// delegateTo is a log with which a holder delegates; to nobody without a delegate.
func delegateTo(holder fake.Hex, to ...fake.Hex) fake.Log {
	delegate, names := fake.Hex(nobody), []string{}
	if len(to) > 0 {
		delegate, names = to[0], []string{string(to[0]) + " 1"}
	}
	l := fake.Emit(tokenAddress, delegateChanged, 3, holder, account(9), delegate)
	l.Note = stated{scope: tokenScope, holder: string(holder), delegates: names}
	return l
}

func votesOf(delegate fake.Hex, units uint64) fake.Log {
	l := fake.Emit(tokenAddress, votesChanged, 1, delegate, uint64(1), units)
	l.Note = stated{scope: tokenScope, holder: string(delegate), power: fmt.Sprint(units)}
	return l
}

// split is a log with which a holder delegates a quarter, maybe to nobody, and a half.
func split(holder, quarter, half fake.Hex) fake.Log {
	word := func(n uint64) string { return fmt.Sprintf("%064x", n) }
	address := func(a fake.Hex) string { return strings.Repeat("0", 24) + string(a[2:]) }
	data := word(64) + word(96) + word(0) + word(2) + address(quarter) + word(2_500) + address(half) + word(5_000)
	delegates := []string{string(half) + " 0.5"}
	if quarter != nobody {
		delegates = append(delegates, string(quarter)+" 0.25")
	}
	return fake.Log{
		Address: tokenAddress, Topics: []string{fake.Keccak(partsChanged), "0x" + address(holder)}, Data: "0x" + data,
		Note: stated{scope: tokenScope, holder: string(holder), delegates: delegates},
	}
}

// inSpace is a log of the registry; it clears the delegate without one.
func inSpace(space string, holder fake.Hex, to ...fake.Hex) fake.Log {
	name, delegate, names := "ClearDelegate", account(3), []string{}
	if len(to) > 0 {
		name, delegate, names = "SetDelegate", to[0], []string{string(to[0]) + " 1"}
	}
	l := fake.Emit(registryAddress, name+"(address,bytes32,address)", 3, holder, spaceID(space), delegate)
	if space != "other.eth" {
		l.Note = stated{scope: registryScope + space, holder: string(holder), delegates: names}
	}
	return l
}

// stated returns what the standing blocks state of each account, in order.
func (f *follower) stated() map[string][]string {
	current := map[[2]string][]string{}
	for _, l := range f.chain.Standing() {
		if s, is := l.Note.(stated); is && s.power != "" {
			current[[2]string{s.holder, s.scope + " has"}] = []string{s.power + "e-18"}
		} else if is {
			current[[2]string{s.holder, s.scope + " ->"}] = s.delegates
		}
	}
	all := map[string][]string{}
	for key, values := range current {
		for _, value := range values {
			if value != "0e-18" {
				all[key[0]] = append(all[key[0]], key[1]+" "+value)
			}
		}
	}
	for _, lines := range all {
		slices.Sort(lines)
	}
	return all
}

// wantDelegations compares what is held of all accounts with what the standing blocks state.
func (f *follower) wantDelegations() {
	f.t.Helper()
	all := f.stated()
	for n := range 10 {
		f.wantStated(string(account(n)), all[string(account(n))])
	}
}

func (f *follower) wantStated(voter string, want []string) {
	f.t.Helper()
	var got []string
	q := query.VoterDelegations{Voter: query.Voter(voter), Direction: query.DelegationsGiven}
	q.Limit = 100
	given := env.Must(pages.ListVoterDelegations(f.t.Context(), f.warehouse, q))(f.t)
	for _, d := range given {
		got = append(got, fmt.Sprintf("%s -> %s %s", d.DelegationScope.String(), d.Delegate, d.Share))
	}
	held := env.Must(pages.DelegatedPowerOf(f.t.Context(), f.warehouse, voter))(f.t)
	for _, p := range held {
		if p.VotingPower != nil && *p.VotingPower != "0" {
			got = append(got, fmt.Sprintf("%s has %se-18", p.DelegationScope.String(), strings.TrimLeft(strings.TrimPrefix(string(*p.VotingPower), "0."), "0")))
		}
	}
	slices.Sort(got)
	env.WantSame(f.t, fmt.Sprintf("delegations and power of %s", voter), want, got)
}

// drawStatements returns some logs of the token and the registry, and one that nobody reads.
func drawStatements(rng *rand.Rand) (logs []fake.Log) {
	one := func() fake.Hex { return account(rng.IntN(8)) }
	for range rng.IntN(3) {
		logs = append(logs, []fake.Log{
			delegateTo(one(), one()), delegateTo(one()), votesOf(one(), 100_000_000_000_000_001+uint64(rng.IntN(7))*100_000_000_000_000_000), votesOf(one(), 0),
			split(one(), []fake.Hex{account(8), nobody}[rng.IntN(2)], one()), inSpace("dao.eth", one(), one()), inSpace("dao.eth", one()), inSpace("other.eth", one(), one()),
			fake.Emit(tokenAddress, "Transfer(address,address,uint256)", 2, one(), one(), uint64(5)),
		}[rng.IntN(9)])
	}
	return logs
}

func TestDelegationsAreThoseOfTheStandingBlocks(t *testing.T) {
	t.Parallel()
	wantDelegationsOfStandingBlocks(t, 0)
}

func TestLongDelegationsAreThoseOfTheStandingBlocks(t *testing.T) {
	t.Parallel()
	for seed := uint64(1); seed < 4; seed++ {
		t.Run(fmt.Sprint("history ", seed), func(t *testing.T) {
			t.Parallel()
			wantDelegationsOfStandingBlocks(t, seed)
		})
	}
}

// wantDelegationsOfStandingBlocks reorganizes a chain at random, and compares the
// delegations that are held with the statements of the blocks that stand.
func wantDelegationsOfStandingBlocks(t *testing.T, seed uint64) {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 43))
	f := newFollower(t)
	f.delegations, f.registries = true, []chain.Registry{{Address: registryAddress, Spaces: []string{"dao.eth"}}}
	f.chain.Create(tokenAddress, 1)
	f.chain.Create(registryAddress, 1)
	for range 15 + rng.IntN(15) {
		f.chain.Mine(drawStatements(rng)...)
	}
	f.start()
	f.Poll("tip", "backfill")
	f.wantDelegations()
	last := f.stated()
	for range 25 {
		switch rng.IntN(6) {
		case 0:
			depth := 1 + rng.IntN(fakeFinality-2)
			var instead [][]fake.Log
			for range depth + rng.IntN(2) {
				instead = append(instead, drawStatements(rng))
			}
			f.chain.Reorganize(depth, instead...)
		case 1:
			f.start()
		case 2:
			f.Poll("final")
		default:
			f.chain.Mine(drawStatements(rng)...)
		}
		f.Poll("tip", "tip")
		all := f.stated()
		for n := range 10 { // those of whom something changed, and some others
			if voter := string(account(n)); !slices.Equal(all[voter], last[voter]) || rng.IntN(8) == 0 {
				f.wantStated(voter, all[voter])
			}
		}
		if last = all; t.Failed() {
			return
		}
	}
	f.chain.MineEmpty(fakeFinality + 2)
	f.Poll("tip", "final", "backfill", "state")
	f.wantDelegations()
	scratch := *f
	scratch.warehouse = env.Warehouse(t)
	scratch.start()
	scratch.Poll("tip", "backfill")
	scratch.wantDelegations()
}

func TestStatementsThatAnAnswerLacksAreMended(t *testing.T) {
	t.Parallel()
	f := newFollower(t)
	f.delegations = true
	f.chain.Create(tokenAddress, 1)
	f.chain.MineEmpty(20)
	f.start()
	f.Poll("tip", "backfill")
	f.chain.Fail(fake.Faults{Forget: func(number uint64) bool { return number == 21 }})
	f.chain.Mine(delegateTo(account(1), account(2)), votesOf(account(2), 100_000_000_000_000_001))
	f.chain.MineEmpty(fakeFinality + 1)
	f.Poll("tip")
	f.chain.Fail(fake.Faults{})
	f.Poll("final")
	f.wantDelegations()
}

// Anybody may name a space of a registry, and many ids are hashes.
func TestSpacesOfNoNameAreOtherSpaces(t *testing.T) {
	t.Parallel()
	f := newFollower(t)
	f.delegations, f.registries = true, []chain.Registry{{Address: registryAddress, Spaces: []string{"dao.eth"}}}
	f.chain.Create(registryAddress, 1)
	f.chain.Mine(
		inSpace("dao.eth", account(1), account(2)), inSpace("other.eth", account(1), account(2)),
		fake.Emit(registryAddress, "SetDelegate(address,bytes32,address)", 3, account(1), fake.Hex("0x"+strings.Repeat("fe", 32)), account(2)),
		fake.Emit(registryAddress, "ClearDelegate(address,bytes32,address)", 3, account(1), fake.Hex("0x00"+strings.Repeat("61", 31)), account(2)),
	)
	f.chain.MineEmpty(fakeFinality + 2)
	f.start()
	f.Poll("tip", "backfill", "final")
	f.wantDelegations()
	env.Want(t, 0, env.Rejected(t, f.warehouse, f.upstream.Sources()[0]), "rejected")
}

func TestASplitThatIsNoneHoldsUpNothing(t *testing.T) {
	t.Parallel()
	f := newFollower(t)
	f.delegations = true
	f.chain.Create(tokenAddress, 1)
	broken := split(account(1), account(2), account(3))
	broken.Note, broken.Data = nil, broken.Data[:len(broken.Data)-64]
	f.chain.Mine(broken, delegateTo(account(4), account(5)), votesOf(account(5), 100_000_000_000_000_001))
	f.chain.MineEmpty(fakeFinality + 2)
	f.start()
	f.Poll("tip", "backfill", "final")
	f.wantDelegations()
	if n := env.Rejected(t, f.warehouse, f.upstream.Sources()[0]); n == 0 {
		t.Error("got nothing rejected, want the split")
	}
}

func TestSuppliesAreWrittenWhenTheyChange(t *testing.T) {
	t.Parallel()
	f := newFollower(t)
	f.delegations = true
	f.chain.Create(tokenAddress, 1)
	f.chain.Answer(tokenAddress, "totalSupply()", nil, uint64(5_000_000_000_000_000_000))
	f.chain.Answer(tokenAddress, "getVotes(address)", []any{account(2)}, uint64(1_000_000_000_000_000_000))
	f.chain.Mine(votesOf(account(2), 1_000_000_000_000_000_000))
	f.chain.MineEmpty(20)
	f.start()
	f.Poll("tip", "backfill", "state")
	share := func(want string) {
		t.Helper()
		held, err := pages.DelegatedPowerOf(t.Context(), f.warehouse, string(account(2)))
		if err != nil || len(held) != 1 || held[0].ShareOfSupply == nil || string(*held[0].ShareOfSupply) != want {
			t.Errorf("got %+v and %v, want a share of %s", held, err, want)
		}
	}
	share("0.2")
	f.chain.Change(tokenAddress, "totalSupply()", nil, uint64(10_000_000_000_000_000_000))
	f.chain.MineEmpty(fakeFinality + 5)
	f.Poll("tip", "final", "state")
	share("0.1")
}

// A follower that begins after a vote has the supply at its snapshot, and asks for it once.
func TestSuppliesAtSnapshotsOfThePastAreRead(t *testing.T) {
	t.Parallel()
	second := func(block uint64) uint64 {
		return uint64(startOfFake().Add(time.Duration(block) * fake.BlockTime).Unix())
	}
	t.Run("a clock of blocks", func(t *testing.T) {
		t.Parallel()
		testPastSupplies(t, newFollower(t), func(block uint64) uint64 { return block })
	})
	t.Run("a clock of seconds", func(t *testing.T) {
		t.Parallel()
		f := newFollower(t)
		f.chain.Answer(governorAddress, "CLOCK_MODE()", nil, "mode=timestamp")
		testPastSupplies(t, f, second)
	})
}

// testPastSupplies follows a vote whose snapshot is at block 22, when the clock shows clock(22).
func testPastSupplies(t *testing.T, f *follower, clock func(uint64) uint64) {
	t.Helper()
	f.delegations = true
	f.chain.Create(tokenAddress, 1)
	f.chain.Answer(tokenAddress, "getPastTotalSupply(uint256)", []any{clock(22)}, uint64(4_000_000_000_000_000_000))
	f.chain.Answer(tokenAddress, "totalSupply()", nil, uint64(5_000_000_000_000_000_000))
	f.chain.MineEmpty(20)
	f.chain.Mine(created(1, clock(22), clock(1_000)), created(2, clock(24), clock(1_000)), votesOf(account(2), 1_000_000_000_000_000_000))
	f.chain.MineEmpty(fakeFinality + 5)
	for range 2 { // processes
		f.start()
		f.Poll("tip", "backfill", "final", "state", "state")
		found, err := feed.PowersBetween(t.Context(), f.warehouse, tokenScope, 0, 1_000, 1)
		if got := found.Supplies; err != nil || len(got) != 2 || got[0].Block != 22 || got[0].Supply.String() != "4" || got[1].Supply.String() != "5" {
			t.Errorf("got supplies %+v and %v, want 4 at block 22 and 5 later", got, err)
		}
		f.chain.Change(tokenAddress, "getPastTotalSupply(uint256)", []any{clock(22)}, uint64(9_000_000_000_000_000_000))
	}
}

func TestStatedPowersReplaceThoseThatLogsDoNotComeTo(t *testing.T) {
	t.Parallel()
	f := newFollower(t)
	f.delegations = true
	f.clock = clock.Stepping(startOfFake().Add(100 * fake.BlockTime))
	f.chain.Create(tokenAddress, 1)
	f.chain.Answer(tokenAddress, "getVotes(address)", []any{account(1)}, uint64(300_000_000_000_000_003))
	f.chain.Answer(tokenAddress, "getCurrentVotes(address)", []any{account(2)}, uint64(100_000_000_000_000_001))
	f.chain.Mine(votesOf(account(1), 300_000_000_000_000_003), votesOf(account(2), 100_000_000_000_000_001), votesOf(account(3), 100_000_000_000_000_007))
	f.chain.MineEmpty(fakeFinality + 5)
	f.start()
	f.Poll("tip", "backfill", "final", "state")
	f.wantDelegations()
	// A lock ends without a log. Its holder has a new log later, whose power is what counts.
	f.chain.Change(tokenAddress, "getVotes(address)", []any{account(1)}, uint64(200_000_000_000_000_000))
	f.chain.MineEmpty(fakeFinality + 5)
	f.Poll("tip", "final", "state")
	f.wantDelegations() // asked by the hour
	f.clock.Step(time.Hour)
	f.Poll("state")
	power := func(want string) {
		t.Helper()
		held, err := pages.DelegatedPowerOf(t.Context(), f.warehouse, string(account(1)))
		if err != nil || len(held) != 1 || held[0].VotingPower == nil || string(*held[0].VotingPower) != want {
			t.Errorf("got %+v and %v, want %s", held, err, want)
		}
	}
	power("0.2")
	f.chain.Mine(votesOf(account(1), 250_000_000_000_000_000))
	f.Poll("tip")
	power("0.25")
}
