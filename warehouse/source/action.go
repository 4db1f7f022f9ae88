package source

import (
	"bytes"
	"cmp"
	"encoding/hex"
	"encoding/json"
	"math/big"
	"slices"
	"strings"

	"github.com/shopspring/decimal"

	"pnyx/governance"
	"pnyx/governance/abi"
	"pnyx/warehouse/record"
)

// readAction reads one of the calls that a proposal executes. Of a line that is rejected, it has the proposal, and the
// index if both are valid, else MaxActions.
func readAction(in object) *record.Action {
	proposal, at := readProposalRef(in.get("proposal")), uint32(record.MaxActions)
	if index := in.get("index"); index.require(typeNumber) {
		if index := index.below(record.MaxActions); in.line.reason == "" {
			at = index
		}
	}
	action := &record.Action{
		Proposal:  proposal,
		Index:     at,
		Chain:     in.get("chain").text(),
		Executor:  in.get("executor").address(),
		Target:    in.get("target").address(),
		Value:     cmp.Or(in.get("value").numberText(), "0"),
		Signature: in.get("signature").text(),
		Calldata:  in.get("calldata").bytes(),
		Block:     in.get("block").countOrZero(),
		TxHash:    in.get("transactionHash").text(),
		Withdrawn: in.get("withdrawn").boolOr(false),
	}
	action.LogIndex = in.get("logIndex").below(1 << 31)
	if !in.get("target").absent() && !record.IsWei(action.Value) {
		in.get("value").rejectUnlike("a whole number of wei below 2^256")
	}
	if chain := in.get("chain"); !chain.require(typeString) || !governance.IsChain(action.Chain) {
		chain.rejectUnlike("eip155:<chain>")
	}
	in.get("target").require(typeString)
	if len(action.Signature) > record.MaxSignature {
		in.get("signature").reject("has %d bytes; want at most %d", len(action.Signature), record.MaxSignature)
	}
	if stated := in.get("operation"); !stated.absent() {
		action.Delegate = oneOf(stated, "call", "delegatecall") == "delegatecall"
	}
	return action
}

// below returns a whole number below a limit; 0 if the value is absent.
func (v value) below(limit uint64) uint32 {
	n := v.countOrZero()
	if n >= limit {
		v.reject("is %d; want a whole number below %d", n, limit)
		return 0
	}
	return uint32(n) //nolint:gosec // limits are below 2^32
}

// address returns an address in lower case.
func (v value) address() string {
	text := v.text()
	if text != "" && !abi.IsAddress(text) {
		v.rejectUnlike("an address: 0x and 40 hexadecimal digits")
	}
	return strings.ToLower(text)
}

// bytes returns bytes in hexadecimal.
func (v value) bytes() []byte {
	text := cmp.Or(v.text(), "0x")
	data, ok := unhex(text)
	if !ok || len(data) > record.MaxCalldata {
		v.rejectUnlike("0x and at most 2 MiB of bytes in hexadecimal")
	}
	return data
}

func unhex(text string) ([]byte, bool) {
	digits, prefixed := strings.CutPrefix(text, "0x")
	data, err := hex.DecodeString(digits)
	return data, prefixed && err == nil
}

// looseText is a text or a number of a plugin, which people write: it is never refused.
type looseText string

// UnmarshalJSON keeps what is neither text nor number empty.
func (t *looseText) UnmarshalJSON(data []byte) error {
	var text string
	switch typeOf(data) {
	case typeNumber:
		*t = looseText(data)
	case typeString:
		err := json.Unmarshal(data, &text)
		*t = looseText(strings.TrimSpace(text))
		return err
	default:
	}
	return nil
}

// looseCall is a call as plugins and Tally state it.
type looseCall struct {
	To        looseText   `json:"to"`
	Target    looseText   `json:"target"`
	Value     looseText   `json:"value"`
	Data      looseText   `json:"data"`
	Calldata  looseText   `json:"calldata"`
	Signature looseText   `json:"signature"`
	Operation looseText   `json:"operation"`
	ChainID   looseText   `json:"chainId"`
	Formatted []looseText `json:"formatted"`
}

// action returns the call as a record; ok is false for one that cannot be read.
func (c *looseCall) action() (a *record.Action, ok bool) {
	if len(c.Formatted) == 4 { // of oSnap, which executes these whatever stands beside: target, operation, value, data
		*c = looseCall{To: c.Formatted[0], Operation: c.Formatted[1], Value: c.Formatted[2], Data: c.Formatted[3]}
	}
	target := string(cmp.Or(c.To, c.Target))
	data, isHex := unhex(string(cmp.Or(c.Data, c.Calldata, "0x")))
	value, isNumber := wholeNumber(string(cmp.Or(c.Value, "0")))
	if !isHex || !isNumber || !record.IsWei(value) || !abi.IsAddress(target) || len(c.Signature) > record.MaxSignature {
		return nil, false
	}
	a = &record.Action{
		Chain: chainOf(c.ChainID), Target: strings.ToLower(target), Value: value, Signature: string(c.Signature), Calldata: data,
		Delegate: c.Operation == "1",
	}
	if selector := abi.SelectorOf(a.Signature); len(data)%32 == 4 || bytes.HasPrefix(data, selector[:]) { // the signature only explains it
		a.Signature = ""
	}
	return a, true
}

// wholeNumber returns a whole number in decimal: 0x10, 16, 016 and 1.6e1 are one number.
func wholeNumber(text string) (number string, ok bool) {
	const most = 256 // of digits, before or after the point: reading more takes the square of their number
	if len(text) > most {
		return "", false
	}
	if digits, is := strings.CutPrefix(text, "0x"); is {
		whole, ok := new(big.Int).SetString(digits, 16)
		return whole.String(), ok
	}
	exact, err := decimal.NewFromString(text)
	if err != nil || exact.Exponent() > most || exact.Exponent() < -most || !exact.IsInteger() {
		return "", false
	}
	return exact.Truncate(0).String(), true
}

// chainOf returns a chain as eip155:<number>; empty for what is none.
func chainOf(network looseText) string {
	chain := "eip155:" + strings.TrimPrefix(string(network), "eip155:")
	if !governance.IsChain(chain) {
		return ""
	}
	return chain
}

// executableCalls reads the calls of a proposal at Tally: how many there are, and all of them,
// or none if one cannot be read. The proposal counts whatever its calls are.
func executableCalls(list value) (stated int, actions []*record.Action) {
	var calls []looseCall
	if hasManyParts(list.json) || json.Unmarshal(list.json, &calls) != nil {
		for range elements(list.json) {
			stated++
		}
		return stated, nil
	}
	return actionsOf(calls)
}

// hasManyParts reports whether JSON has more values than calls that are kept may have: the shortest text of a call
// takes far less memory than the call.
func hasManyParts(text []byte) bool {
	const most = 1 << 17
	parts := 0
	for at := 0; at < len(text) && parts <= most; at++ {
		switch text[at] {
		case '"': // a text may have the interface of a contract
			at = endOfString(text, at) - 1
		case ',':
			parts++
		}
	}
	return parts > most
}

func actionsOf(calls []looseCall) (stated int, actions []*record.Action) {
	for i := range calls {
		action, ok := calls[i].action()
		if !ok {
			return len(calls), nil
		}
		actions = append(actions, action)
	}
	return len(calls), actions
}

// safePlan is what a Safe does after a vote at Snapshot.
type safePlan struct {
	Network        looseText         `json:"network"`
	SafeAddress    looseText         `json:"safeAddress"`
	RealityAddress looseText         `json:"realityAddress"`
	UmaAddress     looseText         `json:"umaAddress"`
	Batches        []json.RawMessage `json:"txs"`
	Transactions   []looseCall       `json:"transactions"`
}

// pluginActions reads the calls that the plugins SafeSnap and oSnap execute, in their order.
// A proposal with other plugins, or with none, executes nothing.
func pluginActions(text []byte) (stated int, actions []*record.Action) {
	var plugins struct {
		SafeSnap struct {
			Safes   []safePlan        `json:"safes"`
			Batches []json.RawMessage `json:"txs"`
		} `json:"safeSnap"`
		OSnap struct {
			Safes []safePlan `json:"safes"`
			Safe  safePlan   `json:"safe"`
		} `json:"oSnap"`
	}
	if hasManyParts(text) || json.Unmarshal(withoutLookalikes(text), &plugins) != nil {
		if bytes.Contains(text, []byte(`"safeSnap"`)) || bytes.Contains(text, []byte(`"oSnap"`)) {
			return 1, nil // there is something that is executed
		}
		return 0, nil
	}
	plans := append(plugins.SafeSnap.Safes, safePlan{Batches: plugins.SafeSnap.Batches})
	plans = append(append(plans, plugins.OSnap.Safes...), plugins.OSnap.Safe)
	readable := true
	for _, plan := range plans {
		count, of := actionsOf(plan.calls(&readable))
		for _, a := range of {
			if a.Chain = chainOf(plan.Network); abi.IsAddress(string(plan.executor())) {
				a.Executor = strings.ToLower(string(plan.executor()))
			}
		}
		readable = readable && len(of) == count
		stated, actions = stated+count, append(actions, of...)
	}
	if !readable {
		return max(stated, 1), nil
	}
	return stated, actions
}

// withoutLookalikes drops the parts of objects that have the name of one that is read, in other letter case: what executes
// a plan does not read them, and encoding/json does.
func withoutLookalikes(text []byte) []byte {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var all any
	if decoder.Decode(&all) != nil {
		return text
	}
	dropLookalikes(all)
	text, _ = json.Marshal(all) // it has been decoded
	return text
}

func dropLookalikes(of any) {
	read := []string{
		"safeSnap", "oSnap", "safes", "safe", "txs", "network", "safeAddress", "realityAddress", "umaAddress", "transactions", "mainTransaction", "formatted",
		"to", "target", "value", "data", "calldata", "signature", "operation", "chainId",
	}
	switch of := of.(type) {
	case []any:
		for _, part := range of {
			dropLookalikes(part)
		}
	case map[string]any:
		for name, part := range of {
			if !slices.Contains(read, name) && slices.ContainsFunc(read, func(known string) bool { return strings.EqualFold(known, name) }) {
				delete(of, name)
			}
			dropLookalikes(part)
		}
	}
}

func (p *safePlan) executor() looseText { return cmp.Or(p.SafeAddress, p.RealityAddress, p.UmaAddress) }

// calls returns the calls of all batches. A batch is a list of calls, an object with one, or a call.
func (p *safePlan) calls(readable *bool) (calls []looseCall) {
	for _, text := range p.Batches {
		var batch struct {
			looseCall

			Transactions []looseCall `json:"transactions"`
			Main         *looseCall  `json:"mainTransaction"`
		}
		err := json.Unmarshal(text, &batch.Transactions)
		if typeOf(text) == typeObject {
			err = json.Unmarshal(text, &batch)
		}
		if batch.To != "" && batch.Transactions == nil {
			batch.Transactions = []looseCall{batch.looseCall}
		}
		if batch.Main != nil && !batch.Main.comesTo(batch.Transactions) {
			batch.Transactions = []looseCall{*batch.Main}
		}
		*readable = *readable && err == nil && batch.Transactions != nil
		calls = append(calls, batch.Transactions...)
	}
	return append(calls, p.Transactions...)
}

// comesTo reports whether the call that a batch executes is its one transaction, or a multisend of them that Safe publishes.
func (c *looseCall) comesTo(calls []looseCall) bool {
	main, ok := c.action()
	_, actions := actionsOf(calls)
	if !ok || len(actions) != len(calls) {
		return false
	}
	whole := abi.Call{Target: main.Target, Value: main.Value, Data: main.Calldata, Operation: abi.PlainCall}
	if main.Delegate {
		whole.Operation = abi.DelegateCall
	}
	executed := []abi.Decoded{{Call: whole}}
	if d := abi.Decode(whole); main.Delegate && d.Undecoded == "" && d.Function == "multiSend(bytes)" && abi.NamesTarget(d.Function, d.Target) {
		executed = d.Calls
	}
	return slices.EqualFunc(executed, actions, func(d abi.Decoded, a *record.Action) bool {
		return d.Target == a.Target && d.Value == a.Value && bytes.Equal(d.Data, a.Calldata) && (d.Operation == abi.DelegateCall) == a.Delegate
	})
}
