package chain

import (
	"cmp"
	"math/big"
	"slices"
	"strings"
	"time"

	"pnyx/governance"
	"pnyx/warehouse/record"
	"pnyx/warehouse/records"
)

// proposal is what the logs of a proposal, other than votes, come to.
type proposal struct {
	// id is decimal.
	id string
	// created is the log that states the proposal, proposer its author.
	created  records.ChainLog
	proposer string
	body     string
	// start and end are values of the Governor's clock. moved is true if a log moved the end.
	start, end *big.Int
	moved      bool
	// milestones are the lifecycle events, each type and transaction once.
	milestones []record.Milestone
	// reached is the state that the milestones imply; empty for none.
	reached string
	// queued is the log that queued the proposal; nil for none.
	queued *records.ChainLog
	// executable is the earliest execution; nil where no log says.
	executable *governance.Timestamp
	// actions are what the proposal executes; nil where no log says.
	actions []*record.Action
	// withdrawn is true if all blocks that stated the proposal were replaced.
	withdrawn bool
}

// ballot is what the logs of a voter's votes on a proposal come to.
type ballot struct {
	proposal, voter string
	// sides is the power in smallest units, in the order of governorSides.
	sides [3]*big.Int
	// side is the first side of the last vote: the choice of a ballot without power.
	side int
	// at and txHash are of the last vote.
	at     time.Time
	txHash string
	// reason has the reasons of all votes, in their order.
	reason string
	// withdrawn is true if all blocks with a vote were replaced.
	withdrawn bool
}

// live returns the logs that count: of blocks that stand, or, where none does, of the last block that was
// replaced, so that what it stated can be withdrawn.
func live(logs []records.ChainLog) (standing []records.ChainLog, withdrawn bool) {
	standing = slices.DeleteFunc(slices.Clone(logs), func(l records.ChainLog) bool { return l.Withdrawn })
	slices.SortStableFunc(standing, func(a, b records.ChainLog) int {
		return cmp.Or(cmp.Compare(a.BlockNumber, b.BlockNumber), cmp.Compare(a.LogIndex, b.LogIndex))
	})
	if len(standing) > 0 || len(logs) == 0 {
		return standing, false
	}
	last := logs[len(logs)-1].BlockHash
	return slices.DeleteFunc(slices.Clone(logs), func(l records.ChainLog) bool { return l.BlockHash != last }), true
}

// foldProposal computes a proposal from its logs; known is false if none states it.
func foldProposal(logs []records.ChainLog) (p proposal, known bool) {
	creations := slices.DeleteFunc(slices.Clone(logs), func(l records.ChainLog) bool {
		return layouts()[l.Topics[0]].kind != eventCreated
	})
	creations, p.withdrawn = live(creations)
	if len(creations) == 0 {
		return p, false
	}
	counted := creations
	if !p.withdrawn {
		counted, _ = live(logs)
	}
	for _, l := range counted {
		e, err := parse(l.Topics, l.Data)
		if err != nil {
			continue // stored logs have been decoded
		}
		p.apply(l, e)
	}
	return p, true
}

func (p *proposal) apply(l records.ChainLog, e event) {
	switch e.kind {
	case eventCreated:
		p.id, p.created, p.proposer, p.start, p.end, p.body = e.proposal, l, e.proposer, e.start, e.end, e.text
		p.execute(l, e.actions)
	case eventActions, eventText:
		if e.kind == eventText {
			p.body = e.text
		}
		if e.kind == eventActions || e.actions != nil {
			p.pass(record.ActionsChangedMilestone, l)
			p.execute(l, e.actions)
		}
	case eventEnd:
		p.end, p.moved = e.end, true
	case eventExtended:
		p.end, p.moved = e.end, true
		p.pass("extended", l)
	case eventQueued:
		p.queued, p.reached = &l, "queued"
		p.pass("queued", l)
		p.executable = nil // queued anew
		if e.end.IsInt64() && e.end.Sign() > 0 {
			at, err := governance.TimestampOfUnix(e.end.Int64())
			if err == nil {
				p.executable = &at
			}
		}
	case eventExecuted:
		p.reached = "executed"
		p.pass("executed", l)
	case eventCanceled, eventVetoed:
		p.reached = "canceled"
		p.pass("canceled", l)
	default:
	}
}

// pass adds a milestone. Contracts repeat some: the first counts, except for extended voting and replaced actions.
func (p *proposal) pass(kind string, l records.ChainLog) {
	repeated := func(m record.Milestone) bool {
		return m.Type == kind && kind != "extended" && kind != record.ActionsChangedMilestone
	}
	if slices.ContainsFunc(p.milestones, repeated) {
		return
	}
	p.milestones = append(p.milestones, record.Milestone{Type: kind, At: new(governance.TimestampOf(l.BlockAt)), TxHash: l.TxHash})
}

// foldBallot computes a voter's ballot from the logs of the votes. Parts add up. It is not known
// while a vote is missing from which others take power: a backfill reads the newest blocks first.
func foldBallot(of rules, logs []records.ChainLog) (b ballot, known bool) {
	logs, b.withdrawn = live(logs)
	for i := range b.sides {
		b.sides[i] = new(big.Int)
	}
	var reasons []string
	for _, l := range logs {
		e, err := parse(l.Topics, l.Data)
		if err != nil {
			continue // stored logs have been decoded
		}
		sides := e.powers(of)
		for i, side := range sides {
			switch {
			case side == nil:
			case e.kind == eventReduced:
				b.sides[i].Sub(b.sides[i], side)
			default:
				b.sides[i].Add(b.sides[i], side)
			}
		}
		if e.kind != eventVote {
			continue
		}
		known = true
		b.proposal, b.voter, b.at, b.txHash = e.proposal, e.voter, l.BlockAt, l.TxHash
		b.side = slices.IndexFunc(sides[:], func(n *big.Int) bool { return n != nil })
		if e.text != "" {
			reasons = append(reasons, e.text)
		}
	}
	b.reason = strings.Join(reasons, "\n\n")
	negative := slices.ContainsFunc(b.sides[:], func(n *big.Int) bool { return n.Sign() < 0 })
	return b, known && !negative
}

func (p *proposal) execute(l records.ChainLog, actions []*record.Action) {
	p.actions = actions
	for _, a := range actions {
		a.Block, a.TxHash, a.LogIndex = l.BlockNumber, l.TxHash, l.LogIndex
	}
}

// setActions adds what a proposal executes to its record. A proposal whose votes a module counts states data of
// the module instead, which says nothing.
func (p *proposal) setActions(r *record.Proposal) {
	if p.actions == nil {
		return
	}
	chain := r.SourceID[:strings.LastIndexByte(r.SourceID, ':')]
	for _, a := range p.actions {
		a.Chain = chain
	}
	r.SetActions(len(p.actions), p.actions)
}
