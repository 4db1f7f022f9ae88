package chain

import (
	"context"
	"errors"
	"log/slog"
	"math/big"
	"slices"
	"time"

	"pnyx/governance"
	"pnyx/warehouse/counts"
	"pnyx/warehouse/record"
	"pnyx/warehouse/records"
)

const (
	// maxRecounts bounds how often the blocks of one proposal are read again because the contract counts other votes:
	// it may count in a way that no event states.
	maxRecounts = 3
	// countDelay is how long after the end of voting the votes are counted. Contracts on chains whose clock is
	// another chain's see its blocks minutes later.
	countDelay = 10 * time.Minute
)

// polled is a proposal whose votes are counted, with the governor that states it.
type polled struct {
	*governor

	id string
	// endAt is the end of voting, which the note lacks while the contract is asked for it again.
	endAt time.Time
	*note
}

// countOf are the counts of a Governor that are asked for together.
type countOf struct {
	governor string
	final    bool
}

// counter compares votes with the contracts' own counts.
type counter struct{ *Chain }

// countEnded compares the votes held on each proposal that has ended with the contract's own count, once. Where they
// differ, it reads the blocks of the proposal again, from one endpoint after another.
func (c counter) countEnded(ctx context.Context) error {
	var failed error
	for _, due := range c.uncounted() {
		due = due[:min(len(due), maxBatch/2)]
		stated, held, err := c.ask(ctx, due, latest)
		if err != nil {
			failed = errors.Join(failed, err)
			continue
		}
		for i, p := range due {
			stated := stated[i]
			agrees := stated == nil || p.agrees(*stated, held[p.ref(p.id).Hash()])
			if !agrees {
				c.Logger.LogAttrs(ctx, slog.LevelWarn, "on-chain tally differs from stored ballots, reading its blocks again",
					slog.String("governor", p.source.ID), slog.String("proposal", p.id), slog.Int("time", p.Recounts+1))
				if err := c.readVotesAgain(ctx, p); err != nil {
					failed = errors.Join(failed, err)
					continue
				}
			}
			failed = errors.Join(failed, c.noteCount(ctx, p, stated, agrees))
		}
	}
	return failed
}

// ask returns what contracts count of proposals as of a block, nil for unknown, and the ballots that are held.
func (c counter) ask(ctx context.Context, of []polled, block string) (stated []*[3]*big.Int, held map[record.RefHash]counts.VoteTotals, err error) {
	var methods []method
	refs := make([]record.RefHash, len(of))
	for i, p := range of {
		id, _ := new(big.Int).SetString(p.id, 10)
		methods = append(methods, method{p.address, "proposalVotes(uint256)", []*big.Int{id}, "words"},
			method{p.address, "proposals(uint256)", []*big.Int{id}, "words"})
		refs[i] = p.ref(p.id).Hash()
	}
	said, there, err := c.client.askAt(ctx, block, methods...)
	for _, p := range of {
		c.apart[countOf{p.address, block == latest}] = err != nil
	}
	stated = make([]*[3]*big.Int, len(of))
	if err != nil || !there {
		return stated, nil, err
	}
	for i, p := range of {
		stated[i] = p.counted(said[2*i], said[2*i+1])
	}
	held, err = counts.VoteTotalsOf(ctx, c.journal.Warehouse, refs)
	return stated, held, err
}

// countOpen compares the contracts' counts of open votes, as of the block up to which ballots are held,
// with these: a contract that counts more counts votes that no known event states.
func (c counter) countOpen(ctx context.Context) (failed error) {
	now := c.Clock.Now()
	due := c.due(false, func(n *note) bool {
		recent := n.End.At != nil && now.Sub(n.End.At.Time()) < time.Hour // then they are counted when final
		return (recent || governance.IsOpenState(n.State)) && n.began() && !n.Counted && n.Recounts == 0 && n.Rules != nil && !n.Rules.UnknownSides
	})
	for _, of := range due {
		for some := range slices.Chunk(of, maxBatch/2) {
			stated, held, err := c.ask(ctx, some, hexOf(c.at().tip.Number))
			failed = errors.Join(failed, err)
			if err != nil || held == nil {
				break
			}
			for i, p := range some {
				if stated[i] != nil && !p.exceeds(*stated[i], held[p.ref(p.id).Hash()]) {
					stated[i] = nil
				}
				failed = errors.Join(failed, c.state(ctx, p, stated[i]))
			}
		}
	}
	return failed
}

// noteCount writes that a proposal was compared with the contract's count. One that differs is
// what upstream states of the proposal, until the votes held agree.
func (c counter) noteCount(ctx context.Context, p polled, stated *[3]*big.Int, agrees bool) error {
	if agrees {
		stated = nil
	}
	if err := c.state(ctx, p, stated); err != nil {
		return err
	}
	c.writing.Lock()
	defer c.writing.Unlock()
	if p.Counted = agrees; !agrees {
		p.Recounts++
	}
	return consultant(c).saveNotes(ctx, p.governor, []proposal{{id: p.id}})
}

// state writes the contract's count to a proposal, nil for none, unless it is there.
func (c counter) state(ctx context.Context, p polled, stated *[3]*big.Int) error {
	var texts []string
	for i := 0; stated != nil && i < len(stated); i++ {
		texts = append(texts, stated[i].String())
	}
	if before := c.setStated(p, texts); !slices.Equal(before, texts) {
		about := records.ChainLogKey{Governor: p.address, ProposalID: p.id}
		if err := c.write(ctx, change{also: []records.ChainLogKey{about}, final: c.at().final.Number}); err != nil {
			c.setStated(p, before)
			return err
		}
	}
	return nil
}

func (c counter) setStated(p polled, texts []string) (before []string) {
	c.writing.Lock()
	defer c.writing.Unlock()
	before, p.Stated = p.Stated, texts
	return before
}

// uncounted returns, as due does, the proposals that ended in final blocks and were not compared with the count.
func (c counter) uncounted() [][]polled {
	final := c.cursor(pollerFinal).UpstreamAt
	if final == nil {
		return nil
	}
	return c.due(true, func(n *note) bool {
		end := n.knownEnd()
		return end != nil && end.Time().Add(countDelay).Before(*final) && !n.Counted && n.Recounts < maxRecounts
	})
}

// due returns the proposals whose notes a rule chooses. A Governor that could not be asked, or was asked together
// with one, has a list of its own: it holds up no other. Proposals of a Governor whose past is not read wait.
func (c counter) due(final bool, is func(*note) bool) (lists [][]polled) {
	c.writing.Lock()
	defer c.writing.Unlock()
	var together []polled
	for _, g := range c.governors {
		if c.journal.Cursor(g.source, pollerBackfill).State != governance.SourceLive {
			continue
		}
		var due []polled
		for id, n := range g.notes {
			if !n.Withdrawn && is(n) {
				p := polled{governor: g, id: id, note: n}
				if n.End.At != nil {
					p.endAt = n.End.At.Time()
				}
				due = append(due, p)
			}
		}
		if c.apart[countOf{g.address, final}] {
			lists = append(lists, due)
		} else {
			together = append(together, due...)
		}
	}
	return slices.DeleteFunc(append(lists, together), func(of []polled) bool { return len(of) == 0 })
}

// counted returns what a contract counts of a proposal, in the order of governorSides; nil where it does not say: the
// words of proposalVotes, or of the proposal's struct, which contracts like Bravo (and Alpha, without abstentions)
// lay out as id, proposer, eta, start, end, for, against, abstain.
func (p polled) counted(votes, parts any) *[3]*big.Int {
	if sides, _ := votes.([]*big.Int); len(sides) == 3 {
		return &[3]*big.Int{sides[0], sides[1], sides[2]}
	}
	const alpha, bravo = 9, 10
	words, _ := parts.([]*big.Int) // nil where the contract has no such method
	isEitherOfThem := len(words) == alpha || len(words) == bravo
	if !isEitherOfThem || words[0].String() != p.id || words[3].String() != p.Start.Value || words[4].String() != p.End.Value {
		return nil
	}
	abstain := new(big.Int)
	if len(words) == bravo {
		abstain = words[7]
	}
	return &[3]*big.Int{words[6], words[5], abstain}
}

// agrees reports whether the held votes add up to a contract's count. Amounts with more
// decimals than are kept are rounded vote by vote, and agree with none.
func (p polled) agrees(stated [3]*big.Int, held counts.VoteTotals) bool {
	if held.Rounded > 0 {
		return true
	}
	counts := p.rulesOf(p.id)
	for i, side := range governorSides() {
		power, _, err := counts.amount(stated[i])
		if err != nil || !power.Equal(held.Choices[side].Power) {
			return false
		}
	}
	return true
}

// exceeds reports whether a contract counts more power than the held votes have.
func (p polled) exceeds(stated [3]*big.Int, held counts.VoteTotals) bool {
	counts, sum := p.rulesOf(p.id), new(big.Int)
	for _, units := range stated {
		sum.Add(sum, units)
	}
	power, _, err := counts.amount(sum)
	return err == nil && held.Rounded == 0 && power.GreaterThan(held.Power)
}

// readVotesAgain reads the blocks from a proposal's creation to its end and mends what is held of them.
func (c counter) readVotesAgain(ctx context.Context, p polled) error {
	logs, err := records.ChainLogsAbout(ctx, c.journal.Warehouse, c.ChainID, []records.ChainLogKey{{Governor: p.address, ProposalID: p.id}})
	if err != nil {
		return err
	}
	stated, known := foldProposal(logs)
	if !known {
		return nil
	}
	final, cursor := c.at().final.Number, c.cursor(pollerState)
	var got blocks
	var end uint64
	for first := stated.created.BlockNumber; end == 0 || got.last < end; first = got.last + 1 {
		if err := c.client.each(ctx, p.Recounts+1, func(e *endpoint) (err error) {
			if end == 0 {
				if end, err = c.blockAt(ctx, e, p.endAt.Add(countDelay), first, final); err != nil {
					return err
				}
			}
			got, err = c.lookAgain(ctx, e, first, end, final, &cursor)
			return err
		}); err != nil {
			return err
		}
	}
	return c.journal.Commit(ctx, nil, cursor)
}

// blockAt returns the first block between two that is not before a time, the last one if there is none.
func (c counter) blockAt(ctx context.Context, e *endpoint, at time.Time, first, last uint64) (uint64, error) {
	for first < last {
		const parts = 16
		var numbers []uint64
		for number := first; number < last; number += max((last-first)/parts, 1) {
			numbers = append(numbers, number)
		}
		found, err := c.client.headers(ctx, e, numbers)
		if err != nil {
			return 0, err
		}
		for _, number := range numbers {
			if !found[number].at().Before(at) {
				last = number
				break
			}
			first = number + 1
		}
	}
	return last, nil
}
