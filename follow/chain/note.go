package chain

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"time"

	"pnyx/governance"
	"pnyx/warehouse"
	"pnyx/warehouse/record"
	"pnyx/warehouse/records"
)

// note is what calls said about a proposal, and what was worked out from it. It is stored as a followed item.
type note struct {
	Start, End moment
	// Rules are the rules at the block that created the proposal; nil until known. Withdrawn is true if all blocks
	// that stated it were replaced.
	Rules     *rules `json:",omitempty"`
	Withdrawn bool   `json:",omitempty"`
	// Quorum is in smallest units; empty for none. QuorumKnown is true once the contract was asked after the start:
	// before, it does not say. It is asked again while voting may change it, and a last time as of the block in which
	// voting ended: QuorumEnd is that end.
	Quorum      string `json:",omitempty"`
	QuorumKnown bool   `json:",omitempty"`
	QuorumEnd   string `json:",omitempty"`
	// State is the state that the contract states; empty where it states none. Overdue is true
	// while it lets vote although the end has passed: the end is not known then.
	State   string `json:",omitempty"`
	Overdue bool   `json:",omitempty"`
	// Deadline is true if the contract states the end as a deadline: its struct is not asked for.
	Deadline bool `json:",omitempty"`
	// Elsewhere is true if the clock counts the blocks of a chain that is not named: no time is known.
	Elsewhere bool `json:",omitempty"`
	// Executed is the execution by the timelock that the Governor did not notice; nil for none. Undated is true while
	// no log says when it was.
	Executed *record.Milestone `json:",omitempty"`
	Undated  bool              `json:",omitempty"`
	// Counted is true once the votes held agreed with the contract's count, or the contract stated none; Recounts is
	// how often they did not.
	Counted  bool `json:",omitempty"`
	Recounts int  `json:",omitempty"`
	// Stated is the contract's count in smallest units, by governorSides, where it differs from the votes held.
	Stated []string `json:",omitempty"`
	// SupplyAsked is the start for which the token was asked for its supply.
	SupplyAsked string `json:",omitempty"`
	// stored is true once the warehouse has the note, if an empty one; unwritten from when the contract is asked
	// until what it said is written, and renewed from when its rules are others until the ballots have them.
	stored, unwritten, renewed bool
}

// moment is a value of a Governor's clock as a time.
type moment struct {
	// Value is decimal.
	Value string
	// At is nil for a value that is no time until governance.MaxYear.
	At *governance.Timestamp
	// Settled is false for an estimate, and for the time of a block that is not final.
	Settled bool
}

// states returns the words for what state(id) returns. The last three are of Nouns.
func states() []string {
	return []string{
		"pending", "active", "canceled", "defeated", "succeeded", "queued", "expired", "executed",
		"canceled", "active", "pending",
	}
}

// clockNow is the present of a clock that counts blocks.
type clockNow struct {
	head header
	// final is the highest block that is not replaced any more.
	final uint64
	// pace is the mean time between blocks.
	pace time.Duration
}

const (
	// paceBlocks is the number of blocks over which the time between blocks is taken.
	paceBlocks = 1_000
	// finalDepth is the depth at which a block of another chain's clock counts as final.
	finalDepth = 65
	// estimateTolerance is the least change of an estimate that is written, as a new version of the proposal.
	estimateTolerance = time.Minute
)

// consultant asks contracts what their logs do not say, and keeps the answers as notes.
type consultant struct{ *Chain }

// clockNow reads the head of the chain whose blocks the Governors' clocks count.
func (c consultant) clockNow(ctx context.Context) (now clockNow, err error) {
	err = c.clockClient.each(ctx, 0, func(e *endpoint) error {
		if now.head, err = c.clockClient.newest(ctx, e); err != nil {
			return err
		}
		back := min(now.head.number(), paceBlocks)
		earlier, err := c.clockClient.headers(ctx, e, []uint64{now.head.number() - back})
		if err == nil && back > 0 {
			now.pace = now.head.at().Sub(earlier[now.head.number()-back].at()) / time.Duration(back)
		}
		return err
	})
	if now.final = c.at().final.Number; c.clockClient != c.client {
		now.final = now.head.number() - min(now.head.number(), finalDepth)
	}
	return now, err
}

// settle gives a moment its time: the block's, or an estimate for a future block.
func (c consultant) settle(ctx context.Context, m *moment, value *big.Int, seconds bool, now *clockNow) error {
	if m.Value == value.String() && m.Settled {
		return nil
	}
	before := *m
	*m = moment{Value: value.String()}
	if !value.IsInt64() || seconds {
		if at, err := governance.TimestampOfUnix(value.Int64()); err == nil && value.IsInt64() {
			m.At = &at
		}
		m.Settled = true
		return nil
	}
	if now.head.Hash == "" {
		var err error
		if *now, err = c.clockNow(ctx); err != nil {
			return err
		}
	}
	block := value.Uint64()
	if block > now.head.number() {
		m.estimate(before, block-now.head.number(), *now)
		return nil
	}
	return c.clockClient.each(ctx, 0, func(e *endpoint) error {
		found, err := c.clockClient.headers(ctx, e, []uint64{block})
		if err != nil {
			return err
		}
		m.At, m.Settled = new(governance.TimestampOf(found[block].at())), block <= now.final
		return nil
	})
}

// estimate estimates the time of a block to come. An earlier estimate stays unless it is off by more than a
// hundredth of the time left.
func (m *moment) estimate(before moment, ahead uint64, now clockNow) {
	const mostBlocks = 1 << 40 // beyond it no estimate is a time
	if ahead > mostBlocks {
		m.Settled = true
		return
	}
	left := float64(ahead) * now.pace.Seconds()
	at, err := governance.TimestampOfUnix(now.head.at().Unix() + int64(left))
	if err != nil {
		return
	}
	m.At = &at
	tolerance := max(estimateTolerance, time.Duration(left/100*float64(time.Second)))
	if before.Value == m.Value && before.At != nil && at.Time().Sub(before.At.Time()).Abs() < tolerance {
		m.At = before.At
	}
}

// consult asks the contract about proposals: rules, state, quorum, times. Once voting is over, the end moves only
// with a log: logged is true after one. It returns the ids of those whose records were made with other rules.
func (c consultant) consult(ctx context.Context, g *governor, proposals []proposal, logged bool) (renewed []string, err error) {
	var now clockNow
	var methods []method
	// asked and moves: the contract is asked for the quorum and for the end. before is the quorum that was known.
	asked, moves, before := make([]bool, len(proposals)), make([]bool, len(proposals)), make([]string, len(proposals))
	for i, p := range proposals {
		changed, err := c.learnRules(ctx, g, p)
		if err != nil {
			return renewed, err
		}
		n := g.note(p.id)
		if n.unwritten, n.renewed = true, n.renewed || changed; n.renewed {
			renewed = append(renewed, p.id)
		}
		n.Withdrawn, before[i] = p.withdrawn, n.Quorum
		id, _ := new(big.Int).SetString(p.id, 10)
		methods = append(methods, method{g.address, "state(uint256)", []*big.Int{id}, "uint256"})
		if moves[i] = logged || n.End.Value == "" || !governance.IsVoteOver(n.State, ""); moves[i] {
			methods = append(methods, method{g.address, "proposalDeadline(uint256)", []*big.Int{id}, "uint256"})
		}
		if moves[i] && !n.Deadline {
			methods = append(methods, method{g.address, "proposals(uint256)", []*big.Int{id}, "words"})
		}
		if asked[i] = n.asksQuorum(c.Clock.Now()); asked[i] {
			ways := quorumMethods(g.address, id, p.start)
			methods = append(methods, ways[:]...)
		}
	}
	said, err := c.client.ask(ctx, methods...)
	if err != nil {
		return renewed, err
	}
	next := func(isAsked bool) (value any) {
		if isAsked {
			value, said = said[0], said[1:]
		}
		return value
	}
	for i, p := range proposals {
		n, state := g.note(p.id), next(true)
		end, _ := new(big.Int).SetString(n.End.Value, 10)
		if moves[i] {
			deadline := next(true)
			end = p.statedEnd(deadline, next(!n.Deadline))
			n.Deadline = endIn(deadline) != nil
		}
		seconds := g.rulesOf(p.id).Seconds
		if err := errors.Join(c.settle(ctx, &n.Start, p.start, seconds, &now), c.settle(ctx, &n.End, end, seconds, &now)); err != nil {
			return renewed, err
		}
		n.setState(state)
		head := c.cursor(pollerTip).UpstreamAt
		n.Overdue = n.State == governance.UpstreamActive && head != nil && n.End.Settled && n.End.At != nil && n.End.At.Time().Add(countDelay).Before(*head)
		if isElsewhere := c.countsElsewhere(p, n, seconds); isElsewhere != n.Elsewhere {
			n.Elsewhere = isElsewhere
			c.unsure.Store(true)
		}
		if asked[i] {
			n.setQuorum(said[:quorumWays], p.id, c.Clock.Now())
			said = said[quorumWays:]
		}
		if err := errors.Join(c.setFinalQuorum(ctx, g, p, n, before[i]), c.findExecution(ctx, g, p, n)); err != nil {
			return renewed, err
		}
	}
	return renewed, nil
}

// countsElsewhere reports whether the start of a vote is no block of this chain, which is its clock by the
// settings: it is before the block that created the proposal, or to come although voting has begun.
func (c consultant) countsElsewhere(p proposal, n *note, seconds bool) bool {
	if c.clockClient != c.client || seconds {
		return false
	}
	return p.start.Cmp(new(big.Int).SetUint64(p.created.BlockNumber)) < 0 ||
		n.began() && p.start.Cmp(new(big.Int).SetUint64(c.at().tip.Number+maxBelow)) > 0
}

// began reports whether the contract states that voting has begun.
func (n *note) began() bool {
	return n.State != "" && governance.IsKnownState(n.State) && !slices.Contains([]string{governance.UpstreamPending, "canceled"}, n.State)
}

// statedEnd returns the end that a contract states, which may move without an event: as the deadline, or after the
// start in the struct of the proposal. Contracts that move it with an event, as Nouns does, keep the first one
// there.
func (p proposal) statedEnd(deadline, parts any) *big.Int {
	if end := endIn(deadline); end != nil {
		return end
	}
	const first = 3 // before are id, proposer, and a number
	words, _ := parts.([]*big.Int)
	for i := first; i+1 < len(words) && !p.moved; i++ {
		if words[i].Cmp(p.start) == 0 && words[i+1].Cmp(p.start) > 0 {
			return words[i+1]
		}
	}
	return p.end
}

// endIn returns the end that a contract states as the deadline; nil for none.
func endIn(deadline any) *big.Int {
	if end, ok := deadline.(*big.Int); ok && end.Sign() > 0 {
		return end
	}
	return nil
}

// setFinalQuorum takes the quorum as of the block in which voting ended, the same for every caller at any time.
// Where no endpoint has its state, the present quorum is as good, unless the contract has changed since.
func (c consultant) setFinalQuorum(ctx context.Context, g *governor, p proposal, n *note, before string) error {
	if !n.lacksFinalQuorum(c.cursor(pollerFinal).UpstreamAt) || p.created.BlockNumber > c.at().final.Number {
		return nil
	}
	id, _ := new(big.Int).SetString(p.id, 10)
	methods, end := quorumMethods(g.address, id, p.start), uint64(0)
	err := c.client.each(ctx, 0, func(e *endpoint) (err error) {
		end, err = c.endOf(ctx, e, g, p, n)
		return err
	})
	if err != nil {
		return err
	}
	said, held, err := c.client.askAt(ctx, hexOf(end), methods[:]...)
	switch {
	case err != nil:
		return err
	case held:
		n.Quorum = ""
	case !g.changedSince(end, eventParameters, eventUpgraded):
		if said, err = c.client.ask(ctx, methods[:]...); err != nil {
			return err
		}
	default:
		n.Quorum = before
	}
	n.setQuorum(said, p.id, c.Clock.Now())
	n.QuorumKnown, n.QuorumEnd = true, n.End.Value
	return nil
}

// lacksFinalQuorum reports whether voting ended up to a final time, and the quorum is not the one as of that end.
func (n *note) lacksFinalQuorum(final *time.Time) bool {
	end := n.knownEnd()
	return end != nil && final != nil && !end.Time().After(*final) && n.QuorumEnd != n.End.Value
}

// knownEnd returns the end of voting by its block or time; nil where it is estimated, or not the end.
func (n *note) knownEnd() *governance.Timestamp {
	if !n.End.Settled || n.Overdue || n.Elsewhere {
		return nil
	}
	return n.End.At
}

func (c consultant) endOf(ctx context.Context, e *endpoint, g *governor, p proposal, n *note) (uint64, error) {
	created := p.created.BlockNumber
	if end, ok := new(big.Int).SetString(n.End.Value, 10); ok && !g.rulesOf(p.id).Seconds && c.clockClient == c.client {
		return max(end.Uint64(), created), nil // a settled one is the number of a block
	}
	return counter(c).blockAt(ctx, e, n.End.At.Time(), created, c.at().final.Number)
}

// setState takes what state(id) returns. A number that is not known is a word that is not known.
func (n *note) setState(said any) {
	n.State = ""
	number, ok := said.(*big.Int)
	switch known := states(); {
	case !ok || number.BitLen() > 8:
	case number.Uint64() < uint64(len(known)):
		n.State = known[number.Uint64()]
	default:
		n.State = "state " + number.String()
	}
}

// quorumWays is the number of ways in which contracts state a quorum.
const quorumWays = 4

// quorumMethods returns the ways in which contracts state the quorum of a proposal, the most specific first.
func quorumMethods(address string, id, start *big.Int) [quorumWays]method {
	return [quorumWays]method{
		{address, "quorumVotes(uint256)", []*big.Int{id}, "uint256"},
		{address, "quorum(uint256)", []*big.Int{id}, "uint256"},
		{address, "quorum(uint256)", []*big.Int{start}, "uint256"},
		{address, "quorumVotes()", nil, "uint256"},
	}
}

// asksQuorum reports whether the contract is asked for the quorum: until it states one, and while voting may change it.
func (n *note) asksQuorum(now time.Time) bool {
	isFinal := n.QuorumEnd != "" && n.QuorumEnd == n.End.Value
	isOver := n.End.At != nil && n.End.At.Time().Before(now)
	return !isFinal && (!n.QuorumKnown || n.State == "active" && !isOver)
}

// setQuorum takes the first quorum that the contract states. What quorum(uint256) answers to an id
// that can be a time counts only where voting has begun and it states none as of the start.
// Contracts with quorumVotes are made after Compound's: those in favour count alone.
func (n *note) setQuorum(said []any, id string, now time.Time) {
	number, _ := new(big.Int).SetString(id, 10)
	for i, value := range said {
		quorum, ok := value.(*big.Int)
		if isTime := number != nil && number.IsUint64(); ok && i == 1 && isTime {
			ofStart, isStated := said[2].(*big.Int)
			ok = n.began() && (!isStated || ofStart.Sign() == 0)
		}
		if !ok {
			continue
		}
		n.Quorum, n.QuorumKnown = quorum.String(), true
		if ofVotes := i == 0 || i == 3; ofVotes && n.Rules != nil && n.Rules.QuorumChoices == nil && n.Rules.UnknownMode == "" {
			n.Rules.QuorumChoices = []string{governance.GovernorFor}
		}
		return
	}
	const behind = 5 * time.Minute // the clock of the chain may be behind ours
	n.QuorumKnown = n.QuorumKnown || n.Start.Settled && n.Start.At != nil && n.Start.At.Time().Add(behind).Before(now)
}

// findExecution dates the execution of a proposal that the timelock executed without its Governor: the operation
// that was scheduled just before the proposal was queued.
func (c consultant) findExecution(ctx context.Context, g *governor, p proposal, n *note) error {
	n.Executed, n.Undated = nil, n.State == "executed" && p.reached != "executed" && p.queued != nil
	if !n.Undated {
		return nil
	}
	logs, err := records.TimelockLogs(ctx, c.journal.Warehouse, c.ChainID, g.address)
	if err != nil {
		return err
	}
	logs, withdrawn := live(logs)
	if withdrawn {
		return nil
	}
	operation := ""
	for _, l := range logs {
		kind := layouts()[l.Topics[0]].kind
		switch {
		case kind == eventScheduled && l.TxHash == p.queued.TxHash && l.LogIndex < p.queued.LogIndex:
			operation = l.ProposalID
		case kind == eventDone && operation != "" && l.ProposalID == operation:
			n.Executed, n.Undated = &record.Milestone{Type: "executed", At: new(governance.TimestampOf(l.BlockAt)), TxHash: l.TxHash}, false
			return nil
		}
	}
	return nil
}

// note returns the note of a proposal, a new one where there is none.
func (g *governor) note(id string) *note {
	if g.notes[id] == nil {
		g.notes[id] = &note{}
	}
	return g.notes[id]
}

func (c consultant) loadNotes(ctx context.Context) error {
	items, err := records.FollowedItems(ctx, c.journal.Warehouse, c.ID())
	if err != nil {
		return err
	}
	for _, item := range items {
		at := slices.IndexFunc(c.governors, func(g *governor) bool { return g.source.ID == item.SourceID })
		if at < 0 {
			continue
		}
		var n note
		if err := json.Unmarshal([]byte(item.Note), &n); err != nil {
			return fmt.Errorf("read the note of proposal %s: %w", item.ItemID, err)
		}
		n.stored = true
		c.governors[at].notes[item.ItemID] = &n
	}
	return nil
}

// announce stores an empty note for each new proposal before its record: where the note itself is not written, the
// contract is asked again.
func (c consultant) announce(ctx context.Context, g *governor, proposals []proposal) error {
	proposals = slices.DeleteFunc(slices.Clone(proposals), func(p proposal) bool { return g.note(p.id).stored })
	err := records.WriteFollowedItems(ctx, c.journal.Warehouse, warehouse.Values(proposals, func(p proposal) records.FollowedItem {
		return c.journal.Note(g.source, p.id, note{})
	}))
	for _, p := range proposals {
		g.note(p.id).stored = err == nil
	}
	return err
}

func (c consultant) saveNotes(ctx context.Context, g *governor, proposals []proposal) error {
	return records.WriteFollowedItems(ctx, c.journal.Warehouse, warehouse.Values(proposals, func(p proposal) records.FollowedItem {
		return c.journal.Note(g.source, p.id, g.note(p.id))
	}))
}
