package records

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"pnyx/governance/abi"
	"pnyx/warehouse"
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

// DecodeActions returns what actions mean, in their order, also by functions that the table of functions does not have.
func DecodeActions(actions []record.Action, of abi.Interfaces) []abi.Decoded {
	return warehouse.Values(actions, func(a record.Action) abi.Decoded { return of.Decode(callOf(&a)) })
}

// DecodeAction returns what an action means by the table of functions.
func DecodeAction(a *record.Action) abi.Decoded { return abi.Decode(callOf(a)) }

func callOf(a *record.Action) abi.Call {
	call := abi.Call{Chain: a.Chain, Target: a.Target, Value: a.Value, Signature: a.Signature, Data: a.Calldata}
	if a.Delegate {
		call.Operation = abi.DelegateCall
	}
	return call
}

// Actions returns the actions of proposals, in order. Of those that upstream no longer states,
// and of withdrawn ones, there are none.
func Actions(ctx context.Context, w *warehouse.Warehouse, of []Proposal) (map[record.RefHash][]record.Action, error) {
	refs := warehouse.Values(of, func(p Proposal) record.RefHash { return p.Ref })
	found, err := AllActions(ctx, w, refs)
	for _, p := range of {
		actions := found[p.Ref]
		for i := range actions {
			actions[i].Proposal = p.ProposalRef
		}
		if p.StatedActions != nil && len(actions) > 0 {
			found[p.Ref] = slices.DeleteFunc(actions, func(a record.Action) bool { return uint64(a.Index) >= *p.StatedActions })
		}
	}
	return found, err
}

// AllActions returns all stored actions of proposals, in order, those included that upstream no longer states. They
// do not name their proposals.
func AllActions(ctx context.Context, w *warehouse.Warehouse, refs []record.RefHash) (map[record.RefHash][]record.Action, error) {
	type row struct {
		ProposalRef record.RefHash
		Position    uint32
		record.Action
	}
	rows, err := warehouse.FindRefs[row](ctx, w, fmt.Sprintf("read the actions of %d proposals", len(refs)), sqlText("action_by_ref"), refs)
	return warehouse.Grouped(rows, err, func(r row) (record.RefHash, record.Action) {
		r.Index = r.Position
		return r.ProposalRef, r.Action
	})
}
