package chain_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"pnyx/clock"
	"pnyx/follow"
	"pnyx/follow/chain"
	"pnyx/test/env"
	fake "pnyx/test/upstream/chain"
	"pnyx/warehouse/feed"
	"pnyx/warehouse/record"
	"pnyx/warehouse/records"
)

// present returns a follower whose clock shows the time of the newest of twenty blocks.
func present(t *testing.T) *follower {
	t.Helper()
	f := newFollower(t)
	f.clock = clock.Stepping(startOfFake().Add(20 * fake.BlockTime))
	f.chain.Mine(created(1, 3, 1000))
	f.chain.MineEmpty(19)
	return f
}

func TestAttackATipBeyondTheChainGoesBack(t *testing.T) {
	t.Parallel()
	f := present(t)
	f.start()
	f.Poll("backfill", "tip")
	f.chain.MineEmpty(3000) // that only this endpoint knows
	f.Poll("tip")
	f.chain.Shrink(3000)
	f.Poll("tip")
	f.chain.Mine(voted(ada, 1, 5e17))
	f.Poll("tip")
	f.wantPower([3]int64{5e17, 0, 0}, 1)
}

func TestAttackAFinalBlockBeyondTheChainStopsThePoller(t *testing.T) {
	t.Parallel()
	f := present(t)
	f.chain.MineEmpty(3000)
	f.start()
	f.Poll("tip")
	f.chain.Shrink(3000)
	env.WantError(t, follow.ErrStopped, f.TryPoll(f.t.Context(), "tip"), "that a person has to decide")
}

// changed answers a call with something else.
func changed(f *follower, method string, change func(result any) any) {
	lying := &env.Tamper{Honest: f.chain}
	lying.Change(func(asked string, answer []byte) []byte {
		if !strings.Contains(asked, method) {
			return answer
		}
		_, body, _ := strings.Cut(asked, " ")
		var calls []struct {
			ID     int
			Method string
		}
		var answers []map[string]any
		if json.Unmarshal([]byte(body), &calls) != nil || json.Unmarshal(answer, &answers) != nil {
			return answer
		}
		for _, call := range calls {
			for _, a := range answers {
				if a["id"] == float64(call.ID) && call.Method == method {
					a["result"] = change(a["result"])
				}
			}
		}
		text, _ := json.Marshal(answers)
		return text
	})
	f.endpoints = []http.Handler{lying}
}

func with(field string, value any) func(any) any {
	return func(result any) any {
		if h, is := result.(map[string]any); is {
			h[field] = value
		}
		return result
	}
}

func TestAttackAnAnswerThatStatesNothingOrAnotherBlockIsRefused(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		method string
		lie    func(result any) any
	}{
		"another block":        {"eth_getBlockByNumber", with("number", "0x7fffffffffffffff")},
		"a block without time": {"eth_getBlockByNumber", with("timestamp", "0x0")},
		"null for logs":        {"eth_getLogs", func(any) any { return nil }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := present(t)
			var lies atomic.Bool
			changed(f, test.method, func(result any) any {
				if lies.Load() {
					return test.lie(result)
				}
				return result
			})
			f.start()
			f.Poll("backfill", "tip")
			f.chain.Mine(voted(ada, 1, 5e17))
			lies.Store(true)
			if _, err := f.Pollers["tip"].Run(t.Context()); err == nil {
				t.Error("got no error")
			}
			lies.Store(false)
			_ = f.TryPoll(t.Context(), "tip")
			f.wantPower([3]int64{5e17, 0, 0}, 1)
		})
	}
}

func TestAttackLogsThatWereNotAskedForAreRefused(t *testing.T) {
	t.Parallel()
	f := present(t)
	f.chain.Mine(voted(ada, 1, 5e17))
	changed(f, "eth_getLogs", func(result any) any {
		logs, _ := result.([]any)
		for _, l := range logs {
			with("blockTimestamp", "0x0")(l)
		}
		for _, l := range logs[:min(len(logs), 1)] {
			for field, value := range map[string]any{
				"address": "0x00000000000000000000000000000000000000ee", "topics": []any{"0x" + strings.Repeat("ab", 32)}, "blockNumber": "0xffffff",
				"blockHash": strings.Repeat("x", 1000), "transactionHash": strings.Repeat("y", 1000), "logIndex": "0xffffffffffffffff", "none": nil,
			} {
				text, _ := json.Marshal(l)
				var copied map[string]any
				_ = json.Unmarshal(text, &copied)
				if copied[field] = value; value == nil {
					delete(copied, "logIndex")
				}
				logs = append(logs, copied)
			}
		}
		return logs
	})
	f.start()
	f.Poll("backfill", "tip")
	stored := env.Must(records.ChainLogs(t.Context(), f.warehouse, fakeChain, 0, 1<<40))(t)
	if len(stored) != 2 || stored[0].BlockAt.Before(startOfFake()) {
		t.Errorf("got logs %v, want the proposal and the vote, with their times", stored)
	}
	if n := env.Rejected(t, f.warehouse, f.upstream.Sources()[0]); n == 0 {
		t.Error("nothing says that logs were refused")
	}
}

func TestAttackATextWithoutBoundIsLeftOutAndTheVoteCounts(t *testing.T) {
	t.Parallel()
	f := present(t)
	f.chain.Mine(fake.Emit(governorAddress, createdEvent, 0, uint64(2), ada, nil, nil, nil, nil, uint64(3), uint64(1000), strings.Repeat("a", 3<<20)))
	f.chain.Mine(fake.Emit(governorAddress, votedEvent, 1, ada, uint64(2), uint64(1), uint64(5e17), strings.Repeat("b", 3<<20)))
	f.start()
	f.Poll("backfill", "tip")
	p, known := f.proposal("2")
	if !known || len(p.Body) > 1<<20 || len(p.Title) > 64<<10 || !strings.Contains(p.Body, "left out") {
		t.Errorf("got known %t, title of %d and body of %d bytes", known, len(p.Title), len(p.Body))
	}
	if _, votes := f.power("2"); votes != 1 {
		t.Errorf("got %d votes, want 1", votes)
	}
	err := records.HeldBallots(t.Context(), f.warehouse, p.ProposalRef, func(b record.Ballot) error {
		if len(b.Reason) > 64<<10 {
			return fmt.Errorf("reason of %d bytes", len(b.Reason))
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	if n := env.Rejected(t, f.warehouse, f.upstream.Sources()[0]); n == 0 {
		t.Error("nothing says that texts were left out")
	}
}

func TestAttackLogsThatShareAPlaceAreNotDroppedInSilence(t *testing.T) {
	t.Parallel()
	f := present(t)
	f.chain.Mine(voted(ada, 1, 5e17), voted(bob, 0, 3))
	changed(f, "eth_getLogs", func(result any) any {
		logs, _ := result.([]any)
		for _, l := range logs {
			with("logIndex", "0x0")(l) // as counted within a transaction
		}
		return append(logs, logs...) // twice, which is no more than once
	})
	f.start()
	f.Poll("backfill", "tip")
	f.wantPower([3]int64{5e17, 0, 0}, 1)
	if n := env.Rejected(t, f.warehouse, f.upstream.Sources()[0]); n == 0 {
		t.Error("nothing says that a vote was refused")
	}
}

// refuseCalls answers calls of a contract's method with an error of no known kind.
func refuseCalls(f *follower, contract, method string) {
	lying := &env.Tamper{Honest: f.chain}
	lying.Change(func(asked string, answer []byte) []byte {
		_, body, _ := strings.Cut(asked, " ")
		var calls []struct {
			ID     float64
			Params []any
		}
		var answers []map[string]any
		if json.Unmarshal([]byte(body), &calls) != nil || json.Unmarshal(answer, &answers) != nil {
			return answer
		}
		for _, call := range calls {
			for _, a := range answers {
				if text := fmt.Sprint(call.Params...); a["id"] == call.ID && strings.Contains(text, contract) && strings.Contains(text, fake.Keccak(method)[:10]) {
					delete(a, "result")
					a["error"] = map[string]any{"code": -32000, "message": "the actor is upset"}
				}
			}
		}
		text, _ := json.Marshal(answers)
		return text
	})
	f.endpoints = []http.Handler{lying}
}

const firstGovernor = "0x00000000000000000000000000000000000000e2"

// newFollowerOfTwo follows another Governor, too; calls of a method that name something are refused.
func newFollowerOfTwo(t *testing.T, named, method string) *follower {
	t.Helper()
	f := newFollower(t)
	f.governors = append([]chain.Governor{{Address: firstGovernor}}, f.governors...)
	f.chain.Create(firstGovernor, 1)
	refuseCalls(f, named, method)
	return f
}

func TestAttackAContractWhoseCallsAreRefusedHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	f := newFollowerOfTwo(t, firstGovernor, "state(uint256)")
	f.chain.Mine(created(1, 22, 1_000), fake.Emit(firstGovernor, createdEvent, 0, uint64(1), ada, nil, nil, nil, nil, uint64(22), uint64(1_000), "Theirs"))
	f.chain.MineEmpty(25)
	f.start()
	f.Poll("tip", "backfill")
	f.chain.Mine(voted(ada, 1, 9))
	f.Poll("tip", "final")
	f.wantPower([3]int64{9, 0, 0}, 1)
	f.chain.Answer(governorAddress, "state(uint256)", []any{uint64(1)}, uint64(1))
	f.FailPoll("state", "state(uint256) of "+firstGovernor)
	if p, _ := f.proposal("1"); p.State != "active" {
		t.Errorf("got state %q of the other one, want active", p.State)
	}
}

func TestAttackAContractThatAnswersTooMuchHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	const other = "0x00000000000000000000000000000000000000f2"
	for method, args := range map[string][]any{"COUNTING_MODE()": nil, "state(uint256)": {uint64(1)}} {
		t.Run(method, func(t *testing.T) {
			t.Parallel()
			f := newFollower(t)
			f.governors = append(f.governors, chain.Governor{Address: other})
			f.chain.Create(other, 1)
			f.chain.Answer(other, method, args, strings.Repeat("x", 17<<20))
			f.chain.Mine(created(1, 22, 1_000), fake.Emit(other, createdEvent, 0, uint64(1), ada, nil, nil, nil, nil, uint64(22), uint64(1_000), "Theirs"))
			f.chain.MineEmpty(25)
			f.start()
			f.Poll("tip", "backfill")
			f.chain.Mine(voted(ada, 1, 9))
			f.Poll("tip", "final", "state")
			f.wantPower([3]int64{9, 0, 0}, 1)
		})
	}
}

// refuse answers requests with HTTP 400 while a rule says so.
func refuse(f *follower, is func(body []byte) bool) {
	f.endpoints = []http.Handler{http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if is(body) {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		f.chain.ServeHTTP(w, r)
	})}
}

func callOf(method string) []byte { return []byte(fake.Keccak(method)[:10]) }

func TestAttackCountsOfOneContractThatAreRefusedHoldUpNoOther(t *testing.T) {
	t.Parallel()
	f := newFollowerOfTwo(t, firstGovernor, "proposalVotes(uint256)")
	f.chain.Answer(governorAddress, "proposalVotes(uint256)", []any{uint64(1)}, uint64(0), uint64(507), uint64(0))
	f.chain.MineEmpty(20)
	f.chain.Mine(created(1, 22, 30), fake.Emit(firstGovernor, createdEvent, 0, uint64(1), ada, nil, nil, nil, nil, uint64(22), uint64(30), "Theirs"))
	f.chain.MineEmpty(120)
	f.start()
	f.Poll("tip", "backfill", "final")
	for range 2 {
		f.FailPoll("state", "")
	}
	p, _ := f.proposal("1")
	env.Want(t, 3, len(p.StatedScores), "counts of the other one")
}

// Its open votes are counted, and what has ended is not.
func TestAttackACountThatIsRefusedAfterTheEndHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	const refused = uint64(0xe6)
	f := newFollowerOfTwo(t, fmt.Sprintf("%064x", refused), "proposalVotes(uint256)")
	f.chain.MineEmpty(20)
	for governor, ended := range map[string]uint64{firstGovernor: refused, governorAddress: 1} {
		for _, id := range []uint64{ended, 2} {
			end, state := uint64(1_000), uint64(1) // active
			if id == ended {
				end, state = 30, 4
			}
			f.chain.Answer(governor, "state(uint256)", []any{id}, state)
			f.chain.Answer(governor, "proposalVotes(uint256)", []any{id}, uint64(0), uint64(507), uint64(0))
			f.chain.Mine(fake.Emit(governor, createdEvent, 0, id, ada, nil, nil, nil, nil, uint64(24), end, "Vote"))
		}
	}
	f.chain.MineEmpty(120)
	f.start()
	f.Poll("tip", "backfill", "final")
	for range 3 {
		_ = f.TryPoll(t.Context(), "state")
	}
	p, _ := f.proposal("1")
	env.Want(t, 3, len(p.StatedScores), "counts of the other one")
}

func TestAttackATokenThatCannotBeAskedHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	const other = "0x00000000000000000000000000000000000000e3"
	f := newFollower(t)
	f.delegations, f.tokens = true, []string{other}
	f.chain.Create(tokenAddress, 1)
	f.chain.Create(other, 1)
	f.chain.Answer(tokenAddress, "totalSupply()", nil, uint64(5_000_000_000_000_000_000))
	refuse(f, func(body []byte) bool {
		return bytes.Contains(body, []byte(other)) && bytes.Contains(body, callOf("totalSupply()"))
	})
	f.chain.Mine(votesOf(account(2), 1_000_000_000_000_000_000))
	f.chain.MineEmpty(2 * fakeFinality)
	f.start()
	f.Poll("tip", "backfill", "final")
	_ = f.TryPoll(t.Context(), "state")
	env.Want(t, 1, len(env.Must(feed.PowersBetween(t.Context(), f.warehouse, tokenScope, 0, 1_000, 1))(t).Supplies), "supplies")
}

// A poll fails after the contract was asked about some proposals.
func TestAttackWhatAContractSaidBeforeAFailureIsWritten(t *testing.T) {
	t.Parallel()
	f := newFollower(t)
	var fails atomic.Bool
	refuse(f, func(body []byte) bool {
		return fails.Load() && bytes.Contains(body, []byte(`"eth_getBlockByNumber","params":["0x3c",`)) // the end of the last
	})
	f.chain.MineEmpty(20)
	const proposals = 6
	for id := range uint64(proposals) {
		f.chain.Answer(governorAddress, "state(uint256)", []any{id}, uint64(1))
		f.chain.Mine(createdAt(id, 30, 1_000-940*(id/(proposals-1))))
	}
	f.chain.MineEmpty(20)
	f.start()
	f.Poll("tip", "backfill", "final", "state")
	f.chain.MineEmpty(30)
	f.Poll("tip", "final")
	for id := range uint64(proposals) {
		f.chain.Change(governorAddress, "state(uint256)", []any{id}, uint64(3))
	}
	fails.Store(true)
	for range proposals { // in one of whose orders each comes before the last
		_ = f.TryPoll(t.Context(), "state")
	}
	fails.Store(false)
	f.Poll("state")
	for id := range proposals {
		p, _ := f.proposal(fmt.Sprint(id))
		env.Want(t, "defeated", p.State, fmt.Sprint(id))
	}
}

func TestAttackBallotsHaveTheRulesThatWereLearntBeforeAFailure(t *testing.T) {
	t.Parallel()
	f := newFollower(t)
	var fails atomic.Bool
	refuse(f, func(body []byte) bool { return fails.Load() && bytes.Contains(body, callOf("state(uint256)")) })
	f.chain.MineEmpty(20)
	f.chain.Mine(createdAt(1, 22, 1_000))
	f.chain.Change(tokenAddress, "decimals()", nil, uint64(6))
	f.chain.Mine(upgraded())
	f.chain.MineEmpty(fakeFinality)
	f.chain.Mine(voted(ada, 1, 3e6))
	f.start()
	f.Poll("tip")
	fails.Store(true)
	_ = f.TryPoll(t.Context(), "backfill")
	fails.Store(false)
	f.Poll("backfill")
	f.wantPower([3]int64{3e6, 0, 0}, 1)
}

// A proposal may have a million ballots: they are read again where rules changed, not after each failure.
func TestAttackAFailureHasNoBallotsReadAgain(t *testing.T) {
	t.Parallel()
	f := newFollower(t)
	var fails atomic.Bool
	refuse(f, func(body []byte) bool { return fails.Load() && bytes.Contains(body, callOf("state(uint256)")) })
	f.chain.Answer(governorAddress, "state(uint256)", []any{uint64(1)}, uint64(1))
	f.chain.MineEmpty(20)
	f.chain.Mine(createdAt(1, 22, 1_000), voted(ada, 1, 3e6))
	f.chain.MineEmpty(fakeFinality)
	f.start()
	f.Poll("tip", "backfill", "final", "state")
	read := func() []string {
		env.MustDo(t, f.warehouse.Conn.Exec(t.Context(), "SYSTEM FLUSH LOGS"))
		return env.Column(t, f.warehouse.Conn, `SELECT toString(count()) FROM system.query_log WHERE current_database = currentDatabase()
			AND type = 'QueryFinish' AND query LIKE '%AND proposal_id = \'1\'%' AND query NOT LIKE '%query_log%'`)
	}
	before := read()
	fails.Store(true)
	_ = f.TryPoll(t.Context(), "state")
	fails.Store(false)
	f.Poll("state")
	env.WantSame(t, "readings of all logs of the proposal", before, read())
}

func TestAttackACallOfAnActionsTargetThatIsRefusedIsNoLimit(t *testing.T) {
	t.Parallel()
	const target = "0x00000000000000000000000000000000000000e4"
	f := newFollower(t)
	refuseCalls(f, target, "symbol()")
	f.chain.Mine(fake.Emit(governorAddress, createdEvent, 0, uint64(1), ada, fake.List{fake.Hex(target)}, fake.List{uint64(0)}, fake.List{""}, fake.List{""},
		uint64(22), uint64(1_000), "# Call"))
	f.chain.MineEmpty(2 * fakeFinality)
	f.start()
	f.Poll("tip", "backfill", "final", "state")
	env.Want(t, 1, len(env.Must(records.Observations(t.Context(), f.warehouse, []record.RefHash{f.ref("1")}))(t)), "observations")
}

func TestAttackAProposalWhoseCallsAreRefusedHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	f := newFollower(t)
	const refused = uint64(0xe5)
	refuseCalls(f, fmt.Sprintf("%064x", refused), "proposalDeadline(uint256)")
	for _, id := range []uint64{1, refused} {
		f.chain.Answer(governorAddress, "state(uint256)", []any{id}, uint64(1))
		f.chain.Mine(createdAt(id, 22, 1_000))
	}
	f.chain.MineEmpty(2 * fakeFinality)
	f.start()
	f.Poll("tip", "backfill")
	f.chain.Change(governorAddress, "state(uint256)", []any{uint64(1)}, uint64(3))
	f.FailPoll("state", "")
	p, _ := f.proposal("1")
	env.Want(t, "defeated", p.State, "state of the other one")
}
