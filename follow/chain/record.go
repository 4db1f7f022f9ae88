package chain

import (
	"encoding/json"
	"fmt"
	"math/big"
	"slices"
	"strings"

	"github.com/shopspring/decimal"

	"pnyx/governance"
	"pnyx/warehouse/record"
)

// ref returns the reference of a proposal of a Governor. Two Governors may have the same
// id, which hashes the content alone.
func (g *governor) ref(id string) record.ProposalRef {
	return record.ProposalRef{Provider: governance.Governor, ExternalID: g.source.ID + "/" + id}
}

// amount returns smallest units as voting power.
func (g *governor) amount(units *big.Int) (power decimal.Decimal, rounded bool, err error) {
	return governance.ParsePower(decimal.NewFromBigInt(units, -int32(g.known().decimals)).String())
}

// proposalRecord returns a proposal as the warehouse keeps it. left says what of it cannot be
// represented: a quorum that nobody can reach is kept as published alone.
func (g *governor) proposalRecord(chain string, p proposal, provisional bool) (r *record.Proposal, left error) {
	n, known, ref := g.note(p.id), g.known(), g.ref(p.id)
	created := governance.TimestampOf(p.created.BlockAt)
	r = &record.Proposal{
		ProposalRef: ref, SourceID: g.source.ID, Title: title(p.body), Body: p.body, ProposerID: p.proposer,
		VoteType: governance.SingleChoice, Choices: []string{"For", "Against", "Abstain"}, State: state(p, n),
		CreatedAt: &created, StartAt: n.Start.At, EndAt: n.End.At, Milestones: slices.Clone(p.milestones),
		Origin:      fmt.Sprintf("%s block %d %s", chain, p.created.BlockNumber, p.created.BlockHash),
		Provisional: provisional, QuorumChoices: known.quorumChoices, OnchainID: ref.ExternalID, Withdrawn: p.withdrawn,
	}
	p.setActions(r)
	if n.Executed != nil {
		r.Milestones = append(r.Milestones, *n.Executed)
	}
	if err := g.addCount(r, n); err != nil {
		return nil, fmt.Errorf("count of proposal %s: %w", p.id, err)
	}
	if quorum, ok := new(big.Int).SetString(n.Quorum, 10); ok {
		r.QuorumRaw = n.Quorum
		if power, _, err := g.amount(quorum); err != nil {
			left = fmt.Errorf("quorum of proposal %s: %w", p.id, err)
		} else {
			r.Quorum = &power
		}
	}
	return r, left
}

// addCount adds a contract's own count to a proposal, where it is other than that of the votes held.
func (g *governor) addCount(r *record.Proposal, n *note) error {
	if n.Stated == nil {
		return nil
	}
	var total decimal.Decimal
	for _, at := range []int{1, 0, 2} { // the order of choices
		units, _ := new(big.Int).SetString(n.Stated[at], 10) // written by noteCount
		power, _, err := g.amount(units)
		if err != nil {
			return err
		}
		r.StatedScores, total = append(r.StatedScores, power), total.Add(power)
	}
	r.StatedScoresTotal = &total
	return nil
}

// title returns the first line of a description without the marks of a heading.
func title(description string) string {
	line, _, _ := strings.Cut(description, "\n")
	return strings.TrimSpace(strings.TrimLeft(line, "#"))
}

// state returns the state of a proposal. A log of its end says more than a call that an
// endpoint behind the head may have answered.
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

// ballotRecord returns a ballot as the warehouse keeps it. Power on several sides is a
// weighted vote.
func (g *governor) ballotRecord(b ballot) (*record.Ballot, error) {
	votedAt := governance.TimestampOf(b.at)
	r := &record.Ballot{
		Proposal: g.ref(b.proposal), VoteID: b.proposal + "/" + b.voter, Voter: b.voter,
		VotedAt: &votedAt, TxHash: b.txHash, Reason: b.reason, Withdrawn: b.withdrawn,
	}
	total := new(big.Int)
	keys, weights, raw := []string{}, []decimal.Decimal{}, map[string]string{}
	for _, at := range []int{1, 0, 2} { // for, against, abstain: the order of choices
		if side := b.sides[at]; side.Sign() > 0 {
			power, _, err := g.amount(side)
			if err != nil {
				return nil, fmt.Errorf("power of vote %s: %w", r.VoteID, err)
			}
			total.Add(total, side)
			keys, weights = append(keys, governorSides()[at]), append(weights, power)
			raw[governorSides()[at]] = side.String()
		}
	}
	var err error
	if r.Power, r.PowerRounded, err = g.amount(total); err != nil {
		return nil, fmt.Errorf("power of vote %s: %w", r.VoteID, err)
	}
	if len(keys) > 1 {
		text, err := json.Marshal(raw)
		if err != nil {
			return nil, fmt.Errorf("encode vote %s: %w", r.VoteID, err)
		}
		r.RawChoice = string(text)
		return r, r.SetWeights(keys, weights)
	}
	r.ChoiceKey = governorSides()[b.side]
	if len(keys) == 1 {
		r.ChoiceKey = keys[0]
	}
	r.Choices, r.RawChoice = []string{r.ChoiceKey}, `"`+r.ChoiceKey+`"`
	return r, nil
}
