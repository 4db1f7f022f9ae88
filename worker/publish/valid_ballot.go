package publish

import (
	"fmt"
	"slices"

	"github.com/shopspring/decimal"

	"pnyx/governance"
	"pnyx/warehouse/counts"
	"pnyx/warehouse/records"
)

// needsGroups reports whether ballots are read in groups: for a run-off, and to tell those that upstream calls
// invalid.
func needsGroups(p records.Proposal, t counts.VoteTotals) bool {
	choices, _ := choicesOf(p, t)
	switch {
	case p.VoteType == governance.RankedChoice:
		return true
	case p.Provider.IsOnchain():
		return false
	}
	return p.VoteType == governance.Copeland || checkBalance(p, t) != nil || len(strays(t, choices)) > 0 || hasOtherForms(p, t)
}

func hasOtherForms(p records.Proposal, t counts.VoteTotals) bool {
	switch form := p.Provider.ChoiceBounds(p.VoteType, len(p.Choices)).Form; form {
	case "":
		return false
	case governance.NumberForm:
		return t.Forms[string(governance.ListForm)]+t.Forms[string(governance.WeightsForm)] > 0
	default:
		return t.Votes > t.Forms[string(form)]+t.Forms[counts.Malformed]
	}
}

// preferences counts the choices that ballots name which are read in groups; zero for all other votes.
func preferences(p records.Proposal, t counts.VoteTotals) (count uint64) {
	if !needsGroups(p, t) {
		return 0
	}
	for _, choice := range t.Choices {
		count += choice.Votes
	}
	return max(count, min(t.Votes, 1)) // one that names nothing is in a group, too
}

// validBallots returns what the ballots support that upstream calls valid, and whether there are others; votes and
// power stay those of all. Without groups, all count.
func validBallots(p records.Proposal, b ballots, bounds governance.ChoiceBounds) (valid ballots, invalid bool, err error) {
	if b.groups == nil {
		return b, false, nil
	}
	valid = b
	valid.groups, valid.totals.SupportingPower = nil, decimal.Zero
	valid.totals.Choices, valid.totals.RootSums = map[string]governance.Score{}, map[string]decimal.Decimal{}
	votes, power, stated := uint64(0), decimal.Zero, map[string]bool{}
	for i := range p.Choices {
		stated[p.Provider.ChoiceKey(i)] = true
	}
	for _, group := range b.groups {
		votes, power = votes+group.Votes, power.Add(group.Power)
		switch {
		case !bounds.Allow(len(group.Choices), group.Form), slices.ContainsFunc(group.Choices, func(key string) bool { return len(stated) > 0 && !stated[key] }):
			invalid = true
		case len(group.Choices) > 0:
			valid.groups = append(valid.groups, group)
			valid.totals.Support(group)
		}
	}
	if votes != b.totals.Votes || !power.Equal(b.totals.Power) {
		err = fmt.Errorf("%w: %d of %s in groups, %d of %s in all", errUnbalanced, votes, power, b.totals.Votes, b.totals.Power)
	}
	return valid, invalid, err
}
