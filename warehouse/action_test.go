package warehouse_test

import (
	"encoding/hex"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/shopspring/decimal"

	"pnyx/governance"
	"pnyx/test/env"
	"pnyx/warehouse"
	"pnyx/warehouse/record"
)

const payee = "0x00000000000000000000000000000000000000b2"

// payment is a transfer of a token as a call.
func payment(t *testing.T, amount int) *record.Action {
	t.Helper()
	data, err := hex.DecodeString("a9059cbb" + strings.Repeat("0", 24) + payee[2:] + fmt.Sprintf("%064x", amount))
	if err != nil {
		t.Fatal(err)
	}
	return &record.Action{
		Chain: "eip155:1", Executor: payee, Target: "0x00000000000000000000000000000000000000cd", Value: "0", Calldata: data, Block: 5,
		TxHash: "0x1", LogIndex: 2, Delegate: true,
	}
}

func TestActionsComeWithTheirProposal(t *testing.T) {
	t.Parallel()
	w := open(t)
	p := &record.Proposal{ProposalRef: ref("p"), SourceID: "s"}
	p.SetActions(3, []*record.Action{payment(t, 1), payment(t, 2), payment(t, 3)})
	if got, want := appendAll(t, w, p), (warehouse.Counts{New: 4}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	p.SetActions(2, []*record.Action{payment(t, 1), payment(t, 7)})
	if got, want := appendAll(t, w, p), (warehouse.Counts{Changed: 2, Unchanged: 1}); got != want {
		t.Errorf("after an edit got %+v, want %+v", got, want)
	}
	stored, err := w.Proposals(t.Context(), []record.RefHash{p.Hash()})
	if err != nil || len(stored) != 1 || stored[0].StatedActions == nil || *stored[0].StatedActions != 2 {
		t.Fatalf("got %+v, %v, want 2 stated actions", stored, err)
	}
	got, err := w.Actions(t.Context(), stored)
	if err != nil {
		t.Fatal(err)
	}
	var want []record.Action
	for i, amount := range []int{1, 7} {
		a := *payment(t, amount)
		a.Proposal, a.Index = p.ProposalRef, uint32(i)
		want = append(want, a)
	}
	if diff := cmp.Diff(want, got[p.Hash()]); diff != "" {
		t.Errorf("the third was taken back, the second changed (-want +got):\n%s", diff)
	}
}

func TestTooManyActionsAreCounted(t *testing.T) {
	t.Parallel()
	var many, large []*record.Action
	for range record.MaxActions + 5 {
		many = append(many, payment(t, 1))
	}
	for range 3 {
		large = append(large, &record.Action{Calldata: make([]byte, record.MaxCalldata/2)})
	}
	for _, test := range []struct {
		actions []*record.Action
		kept    int
	}{{many, record.MaxActions}, {large, 2}} {
		p := &record.Proposal{}
		p.SetActions(len(test.actions), test.actions)
		if len(p.Actions) != test.kept || *p.StatedActions != uint64(len(test.actions)) {
			t.Errorf("kept %d of %d, want %d of %d", len(p.Actions), *p.StatedActions, test.kept, len(test.actions))
		}
	}
}

func TestAnalystsReadActions(t *testing.T) {
	t.Parallel()
	instance := env.SharedEngine(t)
	database := env.MigratedDatabase(t, instance)
	conn := env.ConnectWarehouse(t, instance.URL(database))
	w, err := warehouse.Open(t.Context(), warehouse.Options{URL: instance.URL(database)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.Close() })
	p := &record.Proposal{ProposalRef: ref("p"), SourceID: "s"}
	p.SetActions(2, []*record.Action{payment(t, 1), payment(t, 2)})
	appendAll(t, w, p)
	p.SetActions(1, []*record.Action{payment(t, 1)})
	appendAll(t, w, p)
	hash := p.Hash()
	if err := conn.Exec(t.Context(), "INSERT INTO proposal_states (proposal_ref, proposal_key, dao_id, revision) VALUES (unhex(?), 'p1_k', 'd', 1)",
		hex.EncodeToString(hash[:])); err != nil {
		t.Fatal(err)
	}
	got := env.Column(t, conn, fmt.Sprintf("SELECT concat(proposal_key, ' ', toString(action_index), ' ', operation, ' ', kind, ' ', function, ' ', arguments) FROM %s.proposal_actions",
		warehouse.ViewsDatabase(database)))
	want := `p1_k 0 delegatecall transfer transfer(address,uint256) ` +
		`[{"name":"to","type":"address","value":"` + payee + `","items":null},{"name":"amount","type":"uint256","value":"1","items":null}]`
	if len(got) != 1 || got[0] != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// What a DAO's history knows of addresses is of before, of that DAO, and not withdrawn.
func TestAddressHistories(t *testing.T) {
	t.Parallel()
	env.SkipShort(t, "an engine")
	w := open(t)
	var records []record.Record
	var states []warehouse.ProposalState
	for i, p := range []struct {
		dao, proposer string
		flagged       bool
		end           string
	}{
		{"dao", "0xa", false, "2026-01-02"}, {"dao", "0xa", false, "2026-01-03"}, {"dao", "0xa", true, "2026-01-02"}, {"other", "0xa", false, "2026-01-02"}, {"dao", "0xb", false, "2026-03-01"},
	} {
		id := fmt.Sprintf("p%d", i)
		end := at(p.end + "T00:00:00Z")
		records = append(records, &record.Proposal{ProposalRef: ref(id), SourceID: "s", ProposerID: p.proposer}, ballot(id, "0xa", "v", "1", "1", end))
		states = append(states, warehouse.ProposalState{
			Ref: ref(id).Hash(), Key: governance.ProposalKey("p1_" + id), Power: decimal.Zero, Revision: 1, Flagged: p.flagged,
			Identity: governance.Identity{DAOID: p.dao, Provider: governance.Snapshot}, SourceID: "s", Lifecycle: governance.Closed, CreatedAt: end, EndAt: end,
		})
	}
	taken := ballot("p1", "0xc", "w", "1", "1", at("2026-01-02T00:00:00Z"))
	taken.Withdrawn = true
	appendAll(t, w, append(records, taken)...)
	if err := w.WriteProposalStates(t.Context(), states); err != nil {
		t.Fatal(err)
	}
	got, err := warehouse.AddressHistories(t.Context(), w, "dao", at("2026-02-01T00:00:00Z"), []string{"0xa", "0xb", "0xc"})
	want := map[string]warehouse.AddressHistory{"0xa": {Address: "0xa", Ballots: 2, Proposals: 2}}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}
