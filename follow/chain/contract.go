package chain

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"sync"

	"pnyx/follow/fetch"
	"pnyx/governance"
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

	mu    sync.Mutex
	facts facts
}

// facts are what a contract says about itself.
type facts struct {
	// probed is false until the contract was asked, and after its parameters changed.
	probed bool
	// name is the contract's, symbol its token's.
	name, symbol string
	// timelock is the address of the timelock; empty for none.
	timelock string
	// decimals are those of the token; decimalsKnown is false where none says: amounts are
	// in smallest units then.
	decimals      uint8
	decimalsKnown bool
	// seconds is true if the clock counts seconds instead of blocks.
	seconds bool
	// quorumChoices are the choices that count towards the quorum; nil where unknown.
	quorumChoices []string
	// unknownMode is the counting mode if a word of it is not known; empty else. With
	// unknownSides nobody knows what supports a proposal, with unknownQuorum what counts
	// towards the quorum.
	unknownMode                 string
	unknownSides, unknownQuorum bool
	// inParts is true if a voter may divide power.
	inParts bool
	// proposals is the contract's own count; 0 where it keeps none.
	proposals uint64
}

// zeroAddress is what contracts return for no address.
var zeroAddress = "0x" + strings.Repeat("0", 40) //nolint:gochecknoglobals // a constant that Go cannot write as one

func (g *governor) known() facts {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.facts
}

// addresses returns those of the Governor and its timelock.
func (g *governor) addresses() []string {
	if timelock := g.known().timelock; timelock != "" {
		return []string{g.address, timelock}
	}
	return []string{g.address}
}

// record returns the Governor as a source.
func (g *governor) record(chainID string) *record.Source {
	known := g.known()
	return &record.Source{SourceRef: g.source, Name: validText(known.name), Network: chainID, Symbol: validText(known.symbol)}
}

// outdate has the contract probed again.
func (g *governor) outdate() {
	g.mu.Lock()
	g.facts.probed = false
	g.mu.Unlock()
}

// method is a call to a contract, with the type of its result.
type method struct {
	to, signature string
	args          []*big.Int
	result        string
}

// ask calls contracts at the head. The result of a method that does not exist or reverts is
// nil.
func (c *client) ask(ctx context.Context, methods ...method) ([]any, error) {
	results := make([]any, len(methods))
	err := c.each(ctx, 0, func(e *endpoint) error {
		calls := make([]*call, len(methods))
		for i, m := range methods {
			calls[i] = &call{method: "eth_call", params: []any{
				map[string]string{"to": m.to, "data": callData(m.signature, m.args...)}, "latest",
			}}
		}
		if err := c.do(ctx, e, calls...); err != nil {
			return err
		}
		for i, m := range methods {
			value, err := calls[i].value(m.result)
			if err != nil {
				return fmt.Errorf("call %s of %s: %w", m.signature, m.to, err)
			}
			results[i] = value
		}
		return nil
	})
	return results, err
}

// value decodes the result of an eth_call; nil for a method that does not exist or reverts.
// The type "words" is all of it as numbers.
func (c *call) value(kind string) (any, error) {
	if refused, ok := errors.AsType[*rpcError](c.err); ok && refused.isReverted() {
		return nil, nil //nolint:nilnil // an absent method is no error
	}
	if c.err != nil {
		return nil, c.err
	}
	var text string
	if err := fetch.Decode(c.result, &text); err != nil {
		return nil, fmt.Errorf("read the result: %w", err)
	}
	data, err := unhex(text)
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
	get := func(signature, kind string) method { return method{to: g.address, signature: signature, result: kind} }
	// Governors name their token in different ways.
	tokens := []method{
		get("token()", "address"), get("comp()", "address"), get("uni()", "address"), get("nouns()", "address"), get("xvsVault()", "address"),
	}
	said, err := c.client.ask(ctx, append([]method{
		get("name()", "string"), get("COUNTING_MODE()", "string"), get("CLOCK_MODE()", "string"), get("timelock()", "address"),
		get("quorumVotes()", "uint256"), get("proposalCount()", "uint256"),
	}, tokens...)...)
	if err != nil {
		return err
	}
	found := facts{probed: true, timelock: strings.ToLower(g.Timelock)}
	found.name, _ = said[0].(string)        // nil where the contract says nothing
	counting, _ := said[1].(string)         // as above
	clockMode, _ := said[2].(string)        // as above
	timelock, _ := said[3].(string)         // as above
	_, constantQuorum := said[4].(*big.Int) // Alpha and Bravo
	if count, ok := said[5].(*big.Int); ok && count.IsUint64() {
		found.proposals = count.Uint64()
	}
	found.seconds = strings.Contains(clockMode, "mode=timestamp")
	found.setMode(counting, constantQuorum)
	if found.timelock == "" && timelock != zeroAddress {
		found.timelock = timelock
	}
	for _, address := range append([]any{strings.ToLower(g.Token)}, said[6:]...) {
		if token, ok := address.(string); ok && token != "" && token != zeroAddress {
			if err := c.probeToken(ctx, token, &found); err != nil {
				return err
			}
			break
		}
	}
	g.mu.Lock()
	g.facts = found
	g.mu.Unlock()
	return nil
}

// maxDecimals bounds the decimals of a token: the greatest number of 256 bits has 78 digits.
const maxDecimals = 77

// probeToken asks a token for its decimals. A token that counts pieces has none.
func (c *Chain) probeToken(ctx context.Context, token string, found *facts) error {
	erc721 := new(big.Int).Lsh(big.NewInt(0x80ac58cd), 8*(wordBytes-4)) // its interface id
	said, err := c.client.ask(ctx,
		method{to: token, signature: "decimals()", result: "uint8"}, method{to: token, signature: "symbol()", result: "string"},
		method{to: token, signature: "supportsInterface(bytes4)", args: []*big.Int{erc721}, result: "bool"})
	if err != nil {
		return err
	}
	found.symbol, _ = said[1].(string) // nil where the token says nothing
	decimals, stated := said[0].(*big.Int)
	pieces, _ := said[2].(*big.Int) // as above
	switch {
	case stated && decimals.Uint64() > maxDecimals: // amounts are in smallest units then
	case stated:
		found.decimals, found.decimalsKnown = uint8(decimals.Uint64()), true //nolint:gosec // decoded as 8 bits
	case pieces != nil && pieces.Sign() > 0:
		found.decimalsKnown = true
	}
	return nil
}

// countedSides returns those of the choices that are sides, in the order of choices.
func countedSides(choices []string) (sides []string) {
	for _, side := range []string{governance.GovernorFor, governance.GovernorAgainst, governance.GovernorAbstain} {
		if slices.Contains(choices, side) {
			sides = append(sides, side)
		}
	}
	return sides
}

// setMode takes from COUNTING_MODE who supports what, which sides count towards the quorum, and
// what the params of a vote mean. Alpha and Bravo, which have a constant quorum, count those in
// favour alone.
func (f *facts) setMode(counting string, constantQuorum bool) {
	if constantQuorum {
		f.quorumChoices = []string{governance.GovernorFor}
	}
	for part := range strings.SplitSeq(counting, "&") {
		key, value, _ := strings.Cut(part, "=")
		known := true
		switch words := strings.Split(value, ","); key {
		case "support":
			known = value == "bravo"
			f.unknownSides = !known
		case "quorum":
			if value == "bravo" {
				words = []string{governance.GovernorFor}
			}
			f.quorumChoices = countedSides(words)
			known = len(f.quorumChoices) == len(words)
			f.unknownQuorum = !known
		case "params":
			f.inParts = value == "fractional"
			known = f.inParts || value == "modules"
		default:
			known = part == ""
		}
		if !known {
			f.unknownMode = counting
		}
	}
}
