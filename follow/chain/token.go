package chain

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/shopspring/decimal"

	"pnyx/governance"
	"pnyx/governance/abi"
	"pnyx/warehouse"
	"pnyx/warehouse/record"
	"pnyx/warehouse/records"
)

// Registry is a contract in which holders name delegates by space, as Snapshot's.
type Registry struct {
	// Address is 20 bytes in hexadecimal, in any case.
	Address string
	// Spaces are those whose delegations are stored. Delegations in every space are, too.
	Spaces []string
}

// delegating makes a followed contract a token or a registry, of whose logs statements alone are read.
type delegating struct {
	registry bool
	spaces   map[string]bool
	// supply is the last that was written; Chain.writing guards it.
	supply string
	asked  askedPowers
}

// statementKind is what an event of a token or a registry states.
type statementKind int

const (
	// statesDelegate replaces the delegate of a holder, statesParts the delegates with their parts.
	statesDelegate statementKind = iota + 1
	statesParts
	statesPower
	// statesSpace replaces the delegate of a holder in a space, endsSpace removes it.
	statesSpace
	endsSpace
)

const (
	// partsOfWhole is what the parts of a split delegation add up to at most.
	partsOfWhole = 10_000
	// maxDelegationBytes bounds the data of a split delegation, which its decoder unfolds.
	maxDelegationBytes = 1 << 20
)

// statements returns the kinds by topic, which tokens of OpenZeppelin, Compound, Uniswap and their heirs share.
var statements = sync.OnceValue(func() map[string]statementKind { //nolint:gochecknoglobals // a table
	return map[string]statementKind{
		keccak("DelegateChanged(address,address,address)"):                       statesDelegate,
		keccak("DelegateChanged(address,(address,uint96)[],(address,uint96)[])"): statesParts,
		keccak("DelegateVotesChanged(address,uint256,uint256)"):                  statesPower,
		keccak("SetDelegate(address,bytes32,address)"):                           statesSpace,
		keccak("ClearDelegate(address,bytes32,address)"):                         endsSpace,
	}
})

// tokens are the tokens and registries of a chain, which state who delegates to whom.
type tokens struct{ *Chain }

// addTokens adds, after the Governors, their tokens, further ones, and registries to what is followed.
func (c tokens) addTokens() {
	c.governors = c.governors[:len(c.Options.Governors)]
	if !c.Delegations {
		return
	}
	tokens := warehouse.Values(c.governors, func(g *governor) string { return g.known().token })
	for _, token := range append(tokens, c.Tokens...) {
		c.addDelegating(token, &delegating{})
	}
	for _, r := range c.Registries {
		spaces := map[string]bool{"": true}
		for _, space := range r.Spaces {
			spaces[space] = true
		}
		c.addDelegating(r.Address, &delegating{registry: true, spaces: spaces})
	}
}

func (c tokens) addDelegating(address string, of *delegating) {
	if address != "" && c.delegatingAt(strings.ToLower(address)) == nil {
		c.governors = append(c.governors, newGovernor(c.ChainID, Governor{Address: address}, of))
	}
}

// spaces returns the spaces of a registry that are read, in order; nil for another contract.
func (g *governor) spaces() []string {
	if g.delegating == nil {
		return nil
	}
	return slices.Sorted(maps.Keys(g.delegating.spaces))
}

// delegatingAt returns the token or registry at an address; nil for none.
func (c tokens) delegatingAt(address string) *governor {
	at := slices.IndexFunc(c.governors, func(g *governor) bool { return g.delegating != nil && g.address == address })
	if at < 0 {
		return nil
	}
	return c.governors[at]
}

// backfillCursor returns the cursor of the past of a contract. Tokens and registries are no sources.
func (c *Chain) backfillCursor(g *governor) records.FollowCursor {
	if g.delegating == nil {
		return c.journal.Cursor(g.source, pollerBackfill)
	}
	return c.cursor(pollerBackfill + " " + g.address)
}

// statementRows returns the logs of tokens and registries as rows, with the topic of the event in place of a proposal.
func (c tokens) statementRows(logs []chainLog) (rows []records.ChainLog) {
	for _, l := range logs {
		if !c.isStatement(l) {
			continue
		}
		about := event{proposal: l.Topics[0]}
		if len(l.Topics) > 1 {
			about.voter = l.Topics[1]
		}
		rows = append(rows, storedLog(c.ChainID, strings.ToLower(l.Address), l, about))
	}
	return rows
}

func (c tokens) isStatement(l chainLog) bool {
	return statements()[l.Topics[0]] != 0 && c.delegatingAt(strings.ToLower(l.Address)) != nil
}

// statementRecords returns what rows state. The record of a log of a replaced block is withdrawn; it has
// another key than the log of the block that stands. What cannot be read is kept as rejected.
func (c tokens) statementRecords(rows []records.ChainLog) (records []record.Record) {
	for _, l := range rows {
		g := c.delegatingAt(l.Governor)
		if g == nil {
			continue
		}
		r, err := g.statement(l)
		if err != nil {
			c.journal.Reject(record.SourceRef{}, fmt.Sprintf("block %d log %d", l.BlockNumber, l.LogIndex), fmt.Errorf("%s: %w", g.source.ID, err))
		} else if r != nil {
			records = append(records, r)
		}
	}
	return records
}

// statement returns what a log states; nil for a space that is not followed.
func (g *governor) statement(l records.ChainLog) (record.Record, error) {
	data, err := unhex(l.Data)
	if err != nil {
		return nil, err
	}
	at := governance.TimestampOf(l.BlockAt)
	placed := record.Placed{
		Scope: g.source.ID, Block: l.BlockNumber, LogIndex: l.LogIndex, BlockHash: l.BlockHash, At: &at, Withdrawn: l.Withdrawn,
	}
	kind := statements()[l.Topics[0]]
	if ofRegistry := kind == statesSpace || kind == endsSpace; ofRegistry != g.delegating.registry {
		return nil, nil //nolint:nilnil // another contract's event
	}
	types := map[statementKind][]string{
		statesDelegate: {"address", "address", "address"}, statesParts: {"address"}, statesPower: {"address", "uint256", "uint256"},
		statesSpace: {"address", "bytes32", "address"}, endsSpace: {"address", "bytes32", "address"},
	}[kind]
	values, err := decode(types, l.Topics[1:], data)
	if err != nil {
		return nil, err
	}
	switch kind {
	case statesPower:
		known := g.known()
		power, _, err := known.amount(values.number(2))
		return &record.DelegatePower{Placed: placed, Delegate: values.text(0), Power: power}, err
	case statesDelegate:
		return delegationTo(placed, values.text(0), values.text(2)), nil
	case statesParts:
		return delegationOf(placed, values.text(0), data)
	default:
	}
	id, err := unhex(values.text(1))
	space := strings.TrimRight(string(id), "\x00") // many ids are no names
	if err != nil || !g.delegating.spaces[space] {
		return nil, err
	}
	placed.Scope += "/" + space
	delegate := values.text(2)
	if kind == endsSpace {
		delegate = zeroAddress
	}
	return delegationTo(placed, values.text(0), delegate), nil
}

func delegationTo(placed record.Placed, holder, delegate string) *record.Delegation {
	d := &record.Delegation{Placed: placed, Delegator: holder}
	d.Add(delegate, nil)
	return d
}

// delegationOf reads the new delegates of a holder who splits: the second of two arrays of address and part.
func delegationOf(placed record.Placed, holder string, data []byte) (*record.Delegation, error) {
	lists, err := abi.DecodeValues("((address,uint96)[],(address,uint96)[])", data[:min(len(data), maxDelegationBytes)])
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errLayout, err)
	}
	d, sum := &record.Delegation{Placed: placed, Delegator: holder}, decimal.Zero
	for _, stated := range lists[1].Items {
		part, err := decimal.NewFromString(stated.Items[1].Value)
		if sum = sum.Add(part); err != nil || sum.GreaterThan(decimal.New(partsOfWhole, 0)) {
			return nil, fmt.Errorf("%w: parts above %d", errLayout, partsOfWhole)
		}
		if part.IsPositive() {
			d.Add(stated.Items[0].Value, new(part.Shift(-4)))
		}
	}
	return d, nil
}

// readSupplies asks each token for its supply as of the final block, and writes those that changed.
func (c tokens) readSupplies(ctx context.Context) (failed error) {
	c.writing.Lock()
	defer c.writing.Unlock()
	final := c.at().final
	for _, g := range c.tokens() {
		said, held, err := c.client.askAt(ctx, hexOf(final.Number), method{to: g.address, signature: "totalSupply()", result: "uint256"})
		failed = errors.Join(failed, err)
		if !held {
			continue
		}
		supply := c.supplyOf(g, said[0], c.placedAt(g, final))
		if supply == nil || g.delegating.supply == supply.Supply.String() {
			continue
		}
		if err := c.journal.Commit(ctx, []record.Record{supply}); err != nil {
			return errors.Join(failed, err)
		}
		g.delegating.supply = supply.Supply.String()
	}
	return failed
}

func (c tokens) tokens() []*governor {
	return slices.DeleteFunc(slices.Clone(c.governors), func(g *governor) bool { return g.delegating == nil || g.delegating.registry })
}

// placedAt is where a contract states what holds as of the final block.
func (c tokens) placedAt(g *governor, final block) record.Placed {
	placed := record.Placed{Scope: g.source.ID, Block: final.Number, BlockHash: final.Hash}
	if at := c.cursor(pollerFinal).UpstreamAt; at != nil {
		placed.At = new(governance.TimestampOf(*at))
	}
	return placed
}

// readPastSupplies asks tokens, once a proposal, for their supply at its snapshot, which a late follower has not
// read. A token without getPastTotalSupply states none, and of a clock of another chain the block is not known.
func (c tokens) readPastSupplies(ctx context.Context) (failed error) {
	c.writing.Lock()
	defer c.writing.Unlock()
	for _, g := range c.governors {
		token := c.delegatingAt(strings.ToLower(g.known().token))
		if g.delegating != nil || token == nil || token.delegating.registry {
			continue
		}
		failed = errors.Join(failed, c.readSuppliesAt(ctx, g, token))
	}
	return failed
}

// readSuppliesAt asks a token for its supply at the snapshots of some of a Governor's proposals.
func (c tokens) readSuppliesAt(ctx context.Context, g, token *governor) error {
	asked := c.supplyLacking(g)
	if len(asked) == 0 {
		return nil
	}
	said, err := c.client.ask(ctx, warehouse.Values(asked, func(p proposal) method {
		return method{token.address, "getPastTotalSupply(uint256)", []*big.Int{p.start}, "uint256"}
	})...)
	if err != nil {
		return err
	}
	var records []record.Record
	for i, p := range asked {
		supply := c.supplyOf(token, said[i], record.Placed{Scope: token.source.ID, Block: p.start.Uint64(), LogIndex: lastInBlock, At: g.note(p.id).Start.At})
		if supply == nil {
			continue
		}
		if g.rulesOf(p.id).Seconds {
			if supply.Block, err = c.lastBlockOf(ctx, p.start.Uint64()); err != nil {
				return err
			}
		}
		records = append(records, supply)
	}
	if err := c.journal.Commit(ctx, records); err != nil {
		return err
	}
	for _, p := range asked {
		n := g.note(p.id)
		n.SupplyAsked = n.Start.Value
	}
	return consultant(c).saveNotes(ctx, g, asked)
}

// lastBlockOf returns the last block that is not after a second, of which a later block is final.
func (c tokens) lastBlockOf(ctx context.Context, second uint64) (number uint64, err error) {
	err = c.client.each(ctx, 0, func(e *endpoint) (err error) {
		number, err = counter(c).blockAt(ctx, e, time.Unix(int64(second)+1, 0), 1, c.at().final.Number) //nolint:gosec // a date that has passed
		return err
	})
	return number - 1, err
}

// supplyLacking returns some proposals, with their starts alone, whose final snapshot the token was not asked for.
func (c tokens) supplyLacking(g *governor) (asked []proposal) {
	final, finalAt := c.at().final.Number, c.cursor(pollerFinal).UpstreamAt
	for _, id := range slices.Sorted(maps.Keys(g.notes)) {
		n := g.notes[id]
		start, ok := new(big.Int).SetString(n.Start.Value, 10)
		if n.Withdrawn || !n.Start.Settled || n.SupplyAsked == n.Start.Value || !ok || !start.IsUint64() {
			continue
		}
		if g.rulesOf(id).Seconds {
			if finalAt == nil || n.Start.At == nil || !n.Start.At.Time().Before(*finalAt) {
				continue
			}
		} else if c.clockClient != c.client || start.Uint64() >= final {
			continue
		}
		if asked = append(asked, proposal{id: id, start: start}); len(asked) == maxBatch {
			break
		}
	}
	return asked
}

// supplyOf returns what a token states of its supply as of a block; nil where it states none.
func (c tokens) supplyOf(token *governor, said any, placed record.Placed) *record.TokenSupply {
	units, is := said.(*big.Int)
	if !is {
		return nil
	}
	known := token.known()
	supply, _, err := known.amount(units)
	if err != nil {
		c.journal.Reject(record.SourceRef{}, "supply", fmt.Errorf("%s at block %d: %w", token.source.ID, placed.Block, err))
		return nil
	}
	return &record.TokenSupply{Placed: placed, Supply: supply}
}
