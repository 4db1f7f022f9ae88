package chain

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"pnyx/fetch"
	"pnyx/governance"
	"pnyx/governance/abi"
	"pnyx/warehouse"
	"pnyx/warehouse/record"
	"pnyx/warehouse/records"
)

const (
	// maxObserved bounds the proposals that one poll asks about.
	maxObserved = 10
	// observeEvery is the time between two simulations of a proposal.
	observeEvery = time.Hour
	// maxSymbol bounds the symbol of a token in bytes.
	maxSymbol = 32
)

// The storage slots of EIP-1967: where a proxy keeps its implementation, or the beacon that names it.
const (
	implementationSlot = "0x360894a13ba1a3210667c828492db98dca3e2076cc3735a920a3ca505d382bbc"
	beaconSlot         = "0xa3f0ad74e5423aebfd80d3ef4346578335a9a72aeaee59ff6cb3582b35133d50"
)

// errUnavailable reports an endpoint that cannot simulate: the next one may.
var errUnavailable = errors.New("the endpoint cannot simulate")

// observer asks nodes what the actions of proposals involve, and what executing them would do.
type observer struct{ *Chain }

// execution is a proposal of which something is asked.
type execution struct {
	proposal record.ProposalRef
	executor string
	// open is true while, as of tip, the actions may be executed; executedBy is the transaction that did, if known.
	open       bool
	tip        uint64
	executedBy string
	actions    []record.Action
	held       records.Observation
}

// observe asks about some due proposals: new ones, those with other actions, and executable ones by the hour.
func (c observer) observe(ctx context.Context) error {
	due, err := c.due(ctx)
	if err != nil || len(due) == 0 {
		return err
	}
	var records []record.Record
	var failed error
	for i := range due[:min(len(due), maxObserved)] {
		x := &due[i]
		o, err := c.ask(ctx, x)
		if err != nil { // it holds up no other
			failed = errors.Join(failed, ignoreBehind(err))
			c.unobserved[x.proposal.Hash()] = c.Clock.Now()
			continue
		}
		delete(c.unobserved, x.proposal.Hash())
		c.observed[x.proposal.Hash()] = c.Clock.Now()
		records = append(records, o)
	}
	return errors.Join(failed, c.journal.Commit(ctx, records))
}

// due returns the proposals to ask about. Of those with no actions there is nothing to ask.
func (c observer) due(ctx context.Context) (due []execution, err error) {
	executable := []string{"pending", "active", "succeeded", "queued"} // in these states, actions may still be executed
	of, tip := map[record.RefHash]execution{}, c.at().tip.Number
	var refs []record.RefHash
	c.writing.Lock()
	for _, g := range c.governors {
		executor := cmp.Or(g.known().timelock, g.address)
		for id, n := range g.notes {
			x := execution{proposal: g.ref(id), executor: executor, tip: tip, open: !n.Withdrawn && slices.Contains(executable, n.State)}
			ref := x.proposal.Hash()
			if _, seen := c.observed[ref]; !seen || x.open {
				of[ref], refs = x, append(refs, ref)
			}
		}
	}
	c.writing.Unlock()
	maps.DeleteFunc(c.unobserved, func(_ record.RefHash, at time.Time) bool { return c.Clock.Now().Sub(at) >= observeEvery })
	slices.SortFunc(refs, func(a, b record.RefHash) int { // those asked about longest ago first, and open ones; after all others those that failed
		rank := map[bool]int{true: -1}
		return cmp.Or(c.unobserved[a].Compare(c.unobserved[b]), c.observed[a].Compare(c.observed[b]), rank[of[a].open]-rank[of[b].open], slices.Compare(a[:], b[:]))
	})
	const most = 500
	refs = refs[:min(len(refs), most)]
	found, err := records.Proposals(ctx, c.journal.Warehouse, refs)
	if err != nil {
		return nil, err
	}
	for _, p := range found {
		x := of[p.Ref]
		for _, m := range p.Milestones {
			if m.Type == "executed" {
				x.executedBy = m.TxHash
			}
		}
		of[p.Ref] = x
	}
	actions, err := records.Actions(ctx, c.journal.Warehouse, found)
	if err != nil {
		return nil, err
	}
	held, err := records.Observations(ctx, c.journal.Warehouse, refs)
	for _, ref := range refs {
		x := of[ref]
		x.actions, x.held = actions[ref], held[ref]
		now, last := c.Clock.Now(), c.observed[ref]
		if last.IsZero() && x.held.Payload != "" {
			last = x.held.ObservedAt.Time()
		}
		changed := x.held.Payload != record.PayloadOf(x.actions)
		switch {
		case len(x.actions) == 0, !changed && (!x.open || now.Sub(last) < observeEvery):
			c.observed[ref] = cmp.Or(last, now)
		default:
			due = append(due, x)
		}
	}
	return due, err
}

// ask returns what a node says of a proposal: as of its newest block, or, of an open one, as of the tip.
func (c observer) ask(ctx context.Context, x *execution) (o *record.Observation, err error) {
	asked := headerCall(latest)
	if x.open {
		asked = headerCall(hexOf(x.tip))
	}
	err = c.client.each(ctx, 0, func(e *endpoint) error {
		if err := c.client.do(ctx, e, asked); err != nil {
			return err
		}
		head, err := asked.header()
		if err != nil {
			return err
		}
		o = &record.Observation{
			Proposal: x.proposal, Payload: record.PayloadOf(x.actions), Block: head.number(), At: governance.TimestampOf(head.at()),
		}
		if o.Payload == x.held.Payload {
			o.Simulation, o.Earlier = x.held.Simulation, x.held.Earlier
		}
		decoded := records.DecodeActions(x.actions, nil)
		if o.Addresses, err = c.addresses(ctx, e, decoded, x.executor, head.number()); err != nil {
			return err
		}
		if err := c.settings(ctx, e, x, decoded, head.number(), o.Addresses); err != nil || !x.open {
			return err
		}
		said, err := c.simulate(ctx, e, x, head)
		if err != nil {
			return err
		}
		if before := o.Simulation; before != nil && before.Result != said.Result {
			o.Earlier = before
		}
		if o.Simulation = &said; said.Result == governance.SimulationUnavailable {
			return errUnavailable
		}
		return nil
	})
	if errors.Is(err, errUnavailable) {
		err = nil // which is what is stored
	}
	return o, err
}

// addresses asks which addresses have code, which are proxies, and what tokens call themselves.
func (c observer) addresses(ctx context.Context, e *endpoint, actions []abi.Decoded, executor string, block uint64) ([]record.ObservedAddress, error) {
	at := hexOf(block)
	var calls []*call
	parties := slices.DeleteFunc(abi.Parties(actions), func(p abi.Party) bool { return p.Chain != c.ID() })
	const asked = 5 // calls an address
	for _, p := range parties {
		calls = append(calls, &call{method: "eth_getCode", params: []any{p.Address, at}},
			&call{method: "eth_getStorageAt", params: []any{p.Address, implementationSlot, at}},
			&call{method: "eth_getStorageAt", params: []any{p.Address, beaconSlot, at}},
			viewAt(p.Address, "symbol()", at), viewAt(p.Address, "decimals()", at))
	}
	if err := c.do(ctx, e, calls); err != nil {
		return nil, err
	}
	found := make([]record.ObservedAddress, len(parties))
	var beacons []*call
	var behind []int
	for i, p := range parties {
		of := calls[i*asked : (i+1)*asked]
		found[i] = record.ObservedAddress{Address: p.Address, Block: block, Executor: p.Address == executor}
		if code, err := of[0].bytes(); err == nil {
			found[i].Contract = new(len(code) > 0)
		}
		found[i].Implementation = addressIn(of[1])
		if beacon := addressIn(of[2]); found[i].Implementation == "" && beacon != "" {
			beacons, behind = append(beacons, viewAt(beacon, "implementation()", at)), append(behind, i)
		}
		if p.Token {
			found[i].Symbol, found[i].Decimals = symbolIn(of[3]), decimalsIn(of[4])
		}
	}
	err := c.do(ctx, e, beacons)
	for i, beacon := range beacons {
		found[behind[i]].Implementation = addressIn(beacon)
	}
	return found, err
}

// viewAt returns a call of a function without parameters as of a block.
func viewAt(to, signature, at string) *call {
	return &call{method: callMethod, params: []any{map[string]string{"to": to, "data": callData(signature)}, at}}
}

// do makes calls. What is refused or too large is not known; that a node limits requests is an error.
func (c observer) do(ctx context.Context, e *endpoint, calls []*call) error {
	err := c.client.do(ctx, e, calls...)
	tooLarge := errors.Is(err, fetch.ErrTooLarge)
	if tooLarge {
		err = nil
	}
	for _, made := range calls {
		if tooLarge && made.result == nil && made.err == nil {
			made.err = &rpcError{Message: fetch.ErrTooLarge.Error()}
		}
		if refused, is := errors.AsType[*rpcError](made.err); is && refused.isLimit() {
			return refused
		}
	}
	return err
}

func (c *call) bytes() ([]byte, error) {
	var text string
	if c.err != nil {
		return nil, c.err
	}
	if err := fetch.Decode(c.result, &text); err != nil {
		return nil, fmt.Errorf("read the result: %w", err)
	}
	return unhex(text)
}

// addressIn returns the address in a word that a call returned; empty for none.
func addressIn(c *call) string {
	word, _ := c.bytes() // none is no address
	values, err := abi.DecodeValues("(address)", word)
	if err != nil || values[0].Value == zeroAddress {
		return ""
	}
	return values[0].Value
}

// symbolIn returns a token's symbol, which early tokens state in 32 bytes.
func symbolIn(c *call) string {
	data, _ := c.bytes()
	text := ""
	if values, err := abi.DecodeValues("(string)", data); err == nil {
		text = values[0].Value
	} else if len(data) == wordBytes {
		text = strings.TrimRight(string(data), "\x00")
	}
	if len(text) > maxSymbol || !utf8.ValidString(text) || strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r == 0x7f }) {
		return ""
	}
	return text
}

func decimalsIn(c *call) *uint8 {
	data, _ := c.bytes()
	if len(data) != wordBytes || strings.Trim(hex.EncodeToString(data[:wordBytes-1]), "0") != "" {
		return nil
	}
	return &data[wordBytes-1]
}

// maxSettings bounds the settings that are asked about for a proposal.
const maxSettings = 50

// settings asks for the values that the calls of a proposal replace, as of the newest block while they may be executed,
// or of the block before they were. What no function returns, or the node has no more, is not known.
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
			views := warehouse.Values(getters, func(getter string) *call { return viewAt(d.Target, getter, at) })
			one := asked{function: d.Function, kind: kind, of: &of[place], calls: views}
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
