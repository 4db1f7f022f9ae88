package chain

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"sync"

	"pnyx/fetch"
	"pnyx/warehouse/record"
)

// governor is a followed contract with what it says about itself.
type governor struct {
	Governor

	// address is in lower case.
	address string
	source  record.SourceRef
	// notes are what calls said about proposals, by decimal id. Chain.mu guards them.
	notes map[string]*note
	// delegating is nil for a Governor.
	delegating *delegating

	mu    sync.Mutex
	facts facts
	// changes are the blocks in which the parameters or the code of the contract changed.
	changes map[eventKind][]uint64
}

// facts are what a contract says about itself.
type facts struct {
	// probed is false until the contract was asked, and after its parameters changed.
	probed bool
	// name is the contract's, symbol its token's.
	name, symbol string
	// timelock is the timelock's address; empty for none. It keeps what may be executed for grace seconds; 0 for
	// ever.
	timelock string
	grace    uint64
	// token is the address of the token; empty for none.
	token string
	// proposals is the contract's own count; 0 where it keeps none.
	proposals uint64
	rules
}

// zeroAddress is what contracts return for no address.
var zeroAddress = "0x" + strings.Repeat("0", 40) //nolint:gochecknoglobals // a constant that Go cannot write as one

func (g *governor) known() facts {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.facts
}

func (g *governor) addresses() []string {
	if timelock := g.known().timelock; timelock != "" {
		return []string{g.address, timelock}
	}
	return []string{g.address}
}

func (g *governor) record(chainID string) *record.Source {
	known := g.known()
	source := &record.Source{SourceRef: g.source, Name: validText(known.name), Network: chainID, Symbol: validText(known.symbol)}
	if known.token != "" {
		source.Token = "eip155:" + chainID + ":" + known.token
	}
	return source
}

// outdate has the contract probed again after a log of a change.
func (g *governor) outdate(of eventKind, block uint64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.facts.probed = false
	g.changes[of] = append(g.changes[of], block)
}

// changedSince reports whether a log of some kinds says that the contract changed after a block.
func (g *governor) changedSince(block uint64, kinds ...eventKind) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.ContainsFunc(kinds, func(of eventKind) bool {
		return slices.ContainsFunc(g.changes[of], func(change uint64) bool { return change > block })
	})
}

// method is a call to a contract, with the type of its result.
type method struct {
	to, signature string
	args          []*big.Int
	result        string
}

const latest = "latest"

// ask calls contracts at the head. The result of a method that does not exist or reverts is nil.
func (c *client) ask(ctx context.Context, methods ...method) ([]any, error) {
	results, _, err := c.askAt(ctx, latest, methods...)
	return results, err
}

// askAt calls contracts as of a block; held is false where every endpoint refuses: it lacks the block's state.
func (c *client) askAt(ctx context.Context, block string, methods ...method) (results []any, held bool, err error) {
	results = make([]any, len(methods))
	try := func(e *endpoint) error {
		calls := make([]*call, len(methods))
		for i, m := range methods {
			calls[i] = &call{method: "eth_call", params: []any{
				map[string]string{"to": m.to, "data": callData(m.signature, m.args...)}, block,
			}}
		}
		if err := c.doAny(ctx, e, calls); err != nil {
			return err
		}
		for i, m := range methods {
			value, err := calls[i].value(m.result)
			if err != nil {
				return fmt.Errorf("call %s of %s: %w", m.signature, m.to, err)
			}
			results[i] = value
		}
		held = true
		return nil
	}
	if block == latest {
		return results, true, c.each(ctx, 0, try)
	}
	err = c.withState(ctx, try)
	return results, held, err
}

// withState is each for calls as of an old block. That every endpoint refuses is no error: they lack the state.
func (c *client) withState(ctx context.Context, try func(*endpoint) error) error {
	lacking := 0
	err := c.each(ctx, 0, func(e *endpoint) error {
		err := try(e)
		if _, refused := errors.AsType[*rpcError](err); refused {
			lacking++
		}
		return err
	})
	if lacking == len(c.endpoints) {
		return nil
	}
	return err
}

// doAny is do for calls of contracts, which may answer as much as they like. Of a result that is too large nothing
// is read, as of a method that does not exist.
func (c *client) doAny(ctx context.Context, e *endpoint, calls []*call) error {
	err := c.do(ctx, e, calls...)
	if !errors.Is(err, fetch.ErrTooLarge) {
		return err
	}
	half := len(calls) / 2
	if half == 0 {
		calls[0].result = json.RawMessage(`"0x"`)
		return nil
	}
	if err := c.doAny(ctx, e, calls[:half]); err != nil {
		return err
	}
	return c.doAny(ctx, e, calls[half:])
}

// value decodes the result of an eth_call; nil for a method that does not exist or reverts. The type "words" is
// all of the result as numbers.
func (c *call) value(kind string) (any, error) {
	if refused, ok := errors.AsType[*rpcError](c.err); ok && refused.isReverted() {
		return nil, nil //nolint:nilnil // an absent method is no error
	}
	if c.err != nil {
		return nil, c.err
	}
	data, err := c.bytes()
	if err != nil {
		return nil, err
	}
	if kind == "words" {
		var words []*big.Int
		for ; len(data) >= wordBytes; data = data[wordBytes:] {
			words = append(words, new(big.Int).SetBytes(data[:wordBytes]))
		}
		return words, nil
	}
	value, err := decodeAt(kind, data, 0)
	if err != nil {
		return nil, nil //nolint:nilerr,nilnil // another method under this selector, or none
	}
	return value, nil
}

// probe asks a contract for its facts, once and after its parameters changed.
func (c *Chain) probe(ctx context.Context, g *governor) error {
	if g.known().probed {
		return nil
	}
	found, _, err := c.factsAt(ctx, g, latest)
	if err != nil {
		return err
	}
	g.mu.Lock()
	g.facts = found
	g.mu.Unlock()
	return nil
}

// factsAt asks a contract for its facts as of a block; held is false where no endpoint has its state.
func (c *Chain) factsAt(ctx context.Context, g *governor, block string) (found facts, held bool, err error) {
	if g.delegating != nil {
		found.probed = true
		if g.delegating.registry {
			return found, true, nil
		}
		held, err = c.probeToken(ctx, g.address, block, &found)
		return found, held, err
	}
	get := func(signature, kind string) method { return method{to: g.address, signature: signature, result: kind} }
	// Governors name their token in different ways.
	tokens := []method{
		get("token()", "address"), get("comp()", "address"), get("uni()", "address"), get("nouns()", "address"), get("xvsVault()", "address"),
	}
	said, held, err := c.client.askAt(ctx, block, append([]method{
		get("name()", "string"), get("COUNTING_MODE()", "string"), get("CLOCK_MODE()", "string"), get("timelock()", "address"),
		get("quorumVotes()", "uint256"), get("proposalCount()", "uint256"),
	}, tokens...)...)
	if err != nil || !held {
		return found, held, err
	}
	found = facts{probed: true, timelock: strings.ToLower(g.Timelock)}
	found.name, _ = said[0].(string)        // nil where the contract says nothing
	counting, _ := said[1].(string)         // as above
	clockMode, _ := said[2].(string)        // as above
	timelock, _ := said[3].(string)         // as above
	_, constantQuorum := said[4].(*big.Int) // Alpha and Bravo
	if count, ok := said[5].(*big.Int); ok && count.IsUint64() {
		found.proposals = count.Uint64()
	}
	found.Seconds = strings.Contains(clockMode, "mode=timestamp")
	found.setMode(counting, constantQuorum)
	if found.timelock == "" && timelock != zeroAddress {
		found.timelock = timelock
	}
	for _, address := range append([]any{strings.ToLower(g.Token)}, said[6:]...) {
		if token, ok := address.(string); ok && token != "" && token != zeroAddress {
			found.token = strings.ToLower(token)
			held, err = c.probeToken(ctx, token, block, &found)
			break
		}
	}
	return found, held, err
}

// probeToken asks a token for its decimals, and the timelock for its grace. A token that counts pieces has none.
func (c *Chain) probeToken(ctx context.Context, token, block string, found *facts) (held bool, err error) {
	const maxDecimals = 77                                              // bounds the decimals of a token: the greatest number of 256 bits has 78 digits
	erc721 := new(big.Int).Lsh(big.NewInt(0x80ac58cd), 8*(wordBytes-4)) // its interface id
	methods := []method{
		{to: token, signature: "decimals()", result: "uint8"},
		{to: token, signature: "symbol()", result: "string"},
		{to: token, signature: "supportsInterface(bytes4)", args: []*big.Int{erc721}, result: "bool"},
	}
	if found.timelock != "" {
		methods = append(methods, method{to: found.timelock, signature: "GRACE_PERIOD()", result: "uint256"})
	}
	said, held, err := c.client.askAt(ctx, block, methods...)
	if err != nil || !held {
		return held, err
	}
	if grace, ok := said[len(said)-1].(*big.Int); ok && found.timelock != "" && grace.IsUint64() {
		found.grace = grace.Uint64()
	}
	found.symbol, _ = said[1].(string) // nil where the token says nothing
	decimals, stated := said[0].(*big.Int)
	pieces, _ := said[2].(*big.Int) // as above
	switch {
	case stated && decimals.Uint64() > maxDecimals: // amounts are in smallest units then
	case stated:
		found.Decimals, found.DecimalsKnown = uint8(decimals.Uint64()), true //nolint:gosec // decoded as 8 bits
	case pieces != nil && pieces.Sign() > 0:
		found.DecimalsKnown = true
	}
	return true, nil
}
