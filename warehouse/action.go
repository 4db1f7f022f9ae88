package warehouse

import (
	"context"
	"encoding/json"
	"fmt"

	"pnyx/governance/abi"
	"pnyx/warehouse/record"
)

func actionTable() table {
	return table{
		kind: record.KindAction,
		keys: []column{{"proposal_ref", "FixedString(16)"}, {"action_id", "String"}},
		columns: []string{
			"position", "chain", "executor", "target", "value", "signature", "calldata", "delegate", "block", "tx_hash", "log_index",
			"withdrawn", "kind", "function", "arguments", "inner_calls", "undecoded",
		},
		values: valuesOf(func(into []any, a *record.Action) ([]any, error) {
			// Analysts read what the call means; it follows from the call, and is not part of the record.
			d := DecodeAction(a)
			arguments, err := json.Marshal(append([]abi.Argument{}, d.Arguments...))
			if err != nil {
				return nil, fmt.Errorf("encode arguments of an action: %w", err)
			}
			return append(into,
				a.Index, a.Chain, a.Executor, a.Target, a.Value, a.Signature, string(a.Calldata), a.Delegate, a.Block, a.TxHash, a.LogIndex,
				a.Withdrawn, string(d.Kind), d.Function, string(arguments), uint32(len(d.Calls)+d.Omitted), d.Undecoded, //nolint:gosec // bounded
			), nil
		}),
	}
}

// DecodeActions returns what actions mean, in their order.
func DecodeActions(actions []record.Action) []abi.Decoded {
	decoded := make([]abi.Decoded, len(actions))
	for i := range actions {
		decoded[i] = DecodeAction(&actions[i])
	}
	return decoded
}

// DecodeAction returns what an action means.
func DecodeAction(a *record.Action) abi.Decoded {
	call := abi.Call{Chain: a.Chain, Target: a.Target, Value: a.Value, Signature: a.Signature, Data: a.Calldata}
	if a.Delegate {
		call.Operation = abi.DelegateCall
	}
	return abi.Decode(call)
}

// Actions returns the actions of proposals, in order. Of those that upstream no longer states,
// and of withdrawn ones, there are none.
func (w *Warehouse) Actions(ctx context.Context, of []Proposal) (map[record.RefHash][]record.Action, error) {
	type row struct {
		ProposalRef record.RefHash
		Position    uint32
		record.Action
	}
	refs, stated := make([]record.RefHash, len(of)), map[record.RefHash]Proposal{}
	for i := range of {
		refs[i], stated[of[i].Ref] = of[i].Ref, of[i]
	}
	rows, err := findRefs[row](ctx, w, fmt.Sprintf("read the actions of %d proposals", len(refs)), sqlText("action_by_ref"), refs)
	found := map[record.RefHash][]record.Action{}
	for _, r := range rows {
		p := stated[r.ProposalRef]
		if p.StatedActions == nil || uint64(r.Position) < *p.StatedActions {
			r.Index, r.Action.Proposal = r.Position, p.ProposalRef
			found[p.Ref] = append(found[p.Ref], r.Action)
		}
	}
	return found, err
}
