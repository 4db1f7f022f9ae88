package warehouse_test

import (
	"encoding/hex"
	"fmt"
	"strings"
	"testing"

	"pnyx/governance"
	"pnyx/test/env"
	"pnyx/warehouse/counts"
	"pnyx/warehouse/record"
	"pnyx/warehouse/records"
)

const payee = "0x00000000000000000000000000000000000000b2"

// payment is a transfer of a token as a call.
func payment(t *testing.T, amount int) *record.Action {
	t.Helper()
	data := env.Must(hex.DecodeString("a9059cbb" + strings.Repeat("0", 24) + payee[2:] + fmt.Sprintf("%064x", amount)))(t)
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
	env.Want(t, records.Counts{New: 4}, appendAll(t, w, p))
	p.SetActions(2, []*record.Action{payment(t, 1), payment(t, 7)})
	env.Want(t, records.Counts{Changed: 2, Unchanged: 1}, appendAll(t, w, p), "after an edit")
	stored, err := records.Proposals(t.Context(), w, []record.RefHash{p.Hash()})
	if err != nil || len(stored) != 1 || stored[0].StatedActions == nil || *stored[0].StatedActions != 2 {
		t.Fatalf("got %+v, %v, want 2 stated actions", stored, err)
	}
	got := env.Must(records.Actions(t.Context(), w, stored))(t)
	var want []record.Action
	for i, amount := range []int{1, 7} {
		a := *payment(t, amount)
		a.Proposal, a.Index = p.ProposalRef, uint32(i)
		want = append(want, a)
	}
	env.WantSame(t, "the third was taken back, the second changed", want, got[p.Hash()])
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
	w, conn := openViews(t)
	p := &record.Proposal{ProposalRef: ref("p"), SourceID: "s"}
	p.SetActions(2, []*record.Action{payment(t, 1), payment(t, 2)})
	appendAll(t, w, p)
	p.SetActions(1, []*record.Action{payment(t, 1)})
	appendAll(t, w, p)
	writeStates(t, w, counts.ProposalState{Ref: p.Hash(), Key: "p1_k", Identity: governance.Identity{DAOID: "d"}, Revision: 1})
	got := env.Column(t, conn, "SELECT concat(proposal_key, ' ', toString(action_index), ' ', operation, ' ', kind, ' ', function, ' ', arguments) FROM proposal_actions")
	want := `p1_k 0 delegatecall transfer transfer(address,uint256) ` +
		`[{"name":"to","type":"address","value":"` + payee + `","items":null},{"name":"amount","type":"uint256","value":"1","items":null}]`
	if len(got) != 1 || got[0] != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
