package records

import (
	"cmp"
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
			m := MeaningOf(a.Index, &d)
			arguments, err := json.Marshal(m.Arguments)
			if err != nil {
				return nil, fmt.Errorf("encode arguments of an action: %w", err)
			}
			return append(into,
				a.Index, a.Chain, a.Executor, a.Target, a.Value, a.Signature, string(a.Calldata), a.Delegate, a.Block, a.TxHash, a.LogIndex,
				a.Withdrawn, string(m.Kind), m.Function, string(arguments), m.InnerCalls, m.Undecoded,
			), nil
		}),
	}
}

// Meaning is what an action means to analysts.
type Meaning struct {
	Index      uint32         `json:"index" ch:"position"`
	Kind       abi.Kind       `json:"kind"`
	Function   string         `json:"function"`
	Arguments  []abi.Argument `json:"arguments"`
	InnerCalls uint32         `json:"innerCalls"`
	// Undecoded says why the call, or the first of those inside that is not, is not decoded.
	Undecoded string `json:"undecoded"`
}

// MeaningOf returns what an action means by how it is decoded.
func MeaningOf(index uint32, d *abi.Decoded) Meaning {
	m := Meaning{Index: index, Kind: d.Kind, Function: d.Function, Arguments: append([]abi.Argument{}, d.Arguments...), InnerCalls: uint32(len(d.Calls) + d.Omitted)} //nolint:gosec // bounded
	d.Visit(func(inside *abi.Decoded) { m.Undecoded = cmp.Or(m.Undecoded, inside.Undecoded) })
	return m
}

// Meanings returns what the actions of proposals meant when they were stored, without the arguments.
func Meanings(ctx context.Context, w *warehouse.Warehouse, refs []record.RefHash) (map[record.RefHash][]Meaning, error) {
	if len(refs) == 0 {
		return map[record.RefHash][]Meaning{}, nil
	}
	return warehouse.FindGroups[record.RefHash, Meaning](ctx, w,
		fmt.Sprintf("read what the actions of %d proposals mean", len(refs)),
		sqlText("action_meanings"), warehouse.RefTable(refs))
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

// AllActions returns all stored actions, in order, also those no longer stated. They do not name their proposals.
func AllActions(ctx context.Context, w *warehouse.Warehouse, refs []record.RefHash) (map[record.RefHash][]record.Action, error) {
	return warehouse.FindGroups[record.RefHash, record.Action](ctx, w,
		fmt.Sprintf("read the actions of %d proposals", len(refs)), sqlText("action_by_ref"), warehouse.RefTable(refs))
}
