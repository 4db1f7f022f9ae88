package chain

import (
	"context"
	"slices"

	"pnyx/fetch"
	"pnyx/governance/abi"
	"pnyx/warehouse/record"
)

// maxSettings bounds the settings that are asked about for a proposal.
const maxSettings = 50

// settings asks for the values that the calls of a proposal replace, as of the newest block while they may be executed, or
// of the block before they were. What no function returns, or the node does not have any more, is not known.
func (c observer) settings(
	ctx context.Context, e *endpoint, x *execution, actions []abi.Decoded, head uint64, of []record.ObservedAddress,
) error {
	at, err := c.blockBefore(ctx, e, x, head)
	if err != nil || at == "" {
		return err
	}
	type asked struct {
		function, kind string
		of             *record.ObservedAddress
		calls          []*call
	}
	var all []asked
	var calls []*call
	for i := range actions {
		actions[i].Visit(func(d *abi.Decoded) {
			getters, kind := d.Getters()
			place := slices.IndexFunc(of, func(a record.ObservedAddress) bool { return a.Address == d.Target })
			if len(getters) == 0 || d.Chain != c.ID() || place < 0 || len(all) == maxSettings {
				return
			}
			one := asked{function: d.Function, kind: kind, of: &of[place]}
			for _, getter := range getters {
				one.calls = append(one.calls, viewAt(d.Target, getter, at))
			}
			all, calls = append(all, one), append(calls, one.calls...)
		})
	}
	if err := c.do(ctx, e, calls); err != nil {
		return err
	}
	for _, a := range all {
		for _, made := range a.calls {
			word, err := made.bytes()
			values, err2 := abi.DecodeValues("("+a.kind+")", word)
			if err != nil || err2 != nil || len(word) != wordBytes {
				continue
			}
			if a.of.Settings == nil {
				a.of.Settings = map[string]string{}
			}
			a.of.Settings[a.function] = values[0].Value
			break
		}
	}
	return nil
}

// blockBefore returns the block whose state the calls of a proposal change; empty if that is not known.
func (c observer) blockBefore(ctx context.Context, e *endpoint, x *execution, head uint64) (string, error) {
	if x.open {
		return hexOf(head), nil
	}
	if x.executedBy == "" {
		return "", nil
	}
	asked := &call{method: "eth_getTransactionReceipt", params: []any{x.executedBy}}
	if err := c.do(ctx, e, []*call{asked}); err != nil {
		return "", err
	}
	var receipt struct {
		BlockNumber quantity `json:"blockNumber"`
	}
	if asked.err == nil && fetch.Decode(asked.result, &receipt) == nil && receipt.BlockNumber > 0 {
		return hexOf(uint64(receipt.BlockNumber) - 1), nil
	}
	return "", nil // the node does not have it any more
}
