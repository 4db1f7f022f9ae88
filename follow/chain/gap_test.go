package chain_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"pnyx/follow/chain"
	"pnyx/governance"
	"pnyx/test/env"
	fake "pnyx/test/upstream/chain"
	"pnyx/warehouse/records"
)

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
	if got := f.Journal.Cursor(f.upstream.Sources()[0], "backfill").State; got != governance.SourceBackfilling {
		t.Errorf("got %s before the blocks are read, want %s", got, governance.SourceBackfilling)
	}
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
			lying.Change(func(asked string, answer []byte) []byte {
				if strings.Contains(asked, "eth_getCode") {
					return []byte(`{"jsonrpc":"2.0","id":1,"result":null}`)
				}
				return answer
			})
			f.endpoints = []http.Handler{lying}
			f.start()
			f.Poll("tip", "backfill")
			if _, known := f.proposal("1"); !known {
				t.Error("the past is not read")
			}
		})
	}
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
	if err := f.TryPoll(t.Context(), "state"); err == nil {
		t.Error("got no error of the Governor that cannot be asked")
	}
	p, _ := f.proposal("1")
	env.Want(t, "defeated", p.State, "state at the other Governor")
}
