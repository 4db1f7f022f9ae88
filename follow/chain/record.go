package chain

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/shopspring/decimal"

	"pnyx/governance"
	"pnyx/warehouse/record"
)

// ref returns the reference of a proposal. Two Governors may have the same id, which hashes the content alone.
func (g *governor) ref(id string) record.ProposalRef {
	return record.ProposalRef{Provider: governance.Governor, ExternalID: g.source.ID + "/" + id}
}

// proposalRecord returns a proposal as the warehouse keeps it. left says what of it cannot be represented: an
// unreachable quorum is kept as published alone, as is one of which it is unknown what counts towards it.
func (g *governor) proposalRecord(chain string, p proposal, provisional bool) (r *record.Proposal, left error) {
	n, counts, ref := g.note(p.id), g.rulesOf(p.id), g.ref(p.id)
	created := governance.TimestampOf(p.created.BlockAt)
	r = &record.Proposal{
		ProposalRef: ref, SourceID: g.source.ID, Title: title(p.body), Body: p.body, ProposerID: p.proposer,
		VoteType: governance.SingleChoice, Choices: []string{"For", "Against", "Abstain"}, State: state(p, n),
		CreatedAt: &created, StartAt: n.Start.At, EndAt: n.End.At, Milestones: slices.Clone(p.milestones),
		Origin:      fmt.Sprintf("%s block %d %s", chain, p.created.BlockNumber, p.created.BlockHash),
		Provisional: provisional, QuorumChoices: counts.QuorumChoices, OnchainID: ref.ExternalID, Withdrawn: p.withdrawn,
	}
	if n.Overdue || n.Elsewhere {
		r.EndAt = nil
	}
	if n.Elsewhere {
		r.StartAt = nil
	}
	p.setActions(r)
	g.addTimelock(r, p)
	if n.Executed != nil {
		r.Milestones = append(r.Milestones, *n.Executed)
	}
	if err := addCount(r, counts, n); err != nil {
		left = fmt.Errorf("count of proposal %s: %w", p.id, err)
	}
	if quorum, ok := new(big.Int).SetString(n.Quorum, 10); ok {
		r.QuorumRaw = n.Quorum
		power, _, err := counts.amount(quorum)
		switch {
		case err != nil:
			left = errors.Join(left, fmt.Errorf("quorum of proposal %s: %w", p.id, err))
		case !counts.UnknownQuorum:
			r.Quorum = &power
		}
	}
	return r, left
}

// addTimelock adds the token that votes, and from when until when the timelock lets a queued proposal be executed.
func (g *governor) addTimelock(r *record.Proposal, p proposal) {
	known := g.known()
	if known.token != "" {
		r.VotingToken = r.SourceID[:strings.LastIndexByte(r.SourceID, ':')+1] + known.token
	}
	if p.executable == nil {
		return
	}
	r.Milestones = append(r.Milestones, record.Milestone{Type: record.ExecutableMilestone, At: p.executable})
	const most = 1 << 40 // seconds; what is kept longer is kept for ever
	if known.grace > 0 && known.grace < most {
		if at, err := governance.TimestampOfUnix(int64(*p.executable)/1000 + int64(known.grace)); err == nil {
			r.Milestones = append(r.Milestones, record.Milestone{Type: record.ExpiresMilestone, At: &at})
		}
	}
}

// addCount adds a contract's own count to a proposal, where it differs from the votes held.
func addCount(r *record.Proposal, counts rules, n *note) error {
	if n.Stated == nil {
		return nil
	}
	var scores []decimal.Decimal
	for _, at := range []int{1, 0, 2} { // the order of choices
		units, _ := new(big.Int).SetString(n.Stated[at], 10) // written by noteCount
		power, _, err := counts.amount(units)
		if err != nil {
			return err
		}
		scores = append(scores, power)
	}
	r.StatedScores, r.StatedScoresTotal = scores, new(decimal.Sum(decimal.Zero, scores...))
	return nil
}

// title returns the first line of a description without the marks of a heading.
func title(description string) string {
	line, _, _ := strings.Cut(description, "\n")
	return strings.TrimSpace(strings.TrimLeft(line, "#"))
}

// state returns the state of a proposal. A log of its end says more than a call, maybe of an endpoint behind.
func state(p proposal, n *note) string {
	final := []string{"executed", "canceled"}
	after := append([]string{"expired"}, final...)
	switch {
	case slices.Contains(final, p.reached), n.State == "", p.reached == "queued" && !slices.Contains(after, n.State):
		return p.reached
	default:
		return n.State
	}
}

// ballotRecord returns a ballot as the warehouse keeps it. Power on several sides is a weighted vote. Power that cannot
// be represented is left out: left says why, and the raw choice has its smallest units.
func (g *governor) ballotRecord(b ballot) (r *record.Ballot, left error) {
	r = &record.Ballot{
		Proposal: g.ref(b.proposal), VoteID: b.proposal + "/" + b.voter, Voter: b.voter,
		VotedAt: new(governance.TimestampOf(b.at)), TxHash: b.txHash, Reason: b.reason, Withdrawn: b.withdrawn,
	}
	total, counts := new(big.Int), g.rulesOf(b.proposal)
	keys, weights, raw := []string{}, []decimal.Decimal{}, map[string]string{}
	for _, at := range []int{1, 0, 2} { // for, against, abstain: the order of choices
		side := b.sides[at]
		if side.Sign() <= 0 {
			continue
		}
		power, _, err := counts.amount(side)
		left = cmp.Or(left, err)
		total.Add(total, side)
		keys, weights = append(keys, governorSides()[at]), append(weights, power)
		raw[governorSides()[at]] = side.String()
	}
	power, rounded, err := counts.amount(total)
	if left = cmp.Or(left, err); left != nil {
		r.SetUnreadable("units", raw)
		return r, fmt.Errorf("power of vote %s: %w", r.VoteID, left)
	}
	r.Power, r.PowerRounded = power, rounded
	switch {
	case counts.UnknownSides:
		r.SetUnreadable("support", map[string]string{strconv.Itoa(b.side): total.String()})
		return r, nil
	case len(keys) > 1:
		text, err := json.Marshal(raw)
		if err != nil {
			return r, fmt.Errorf("encode vote %s: %w", r.VoteID, err)
		}
		r.RawChoice = string(text)
		r.SetWeights(keys, weights)
		return r, nil
	}
	r.ChoiceKey = governorSides()[b.side]
	if len(keys) == 1 {
		r.ChoiceKey = keys[0]
	}
	r.Choices, r.RawChoice = []string{r.ChoiceKey}, `"`+r.ChoiceKey+`"`
	return r, nil
}
