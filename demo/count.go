package demo

import "encoding/json"

// count is the result of a vote: of every voter, the ballot that counts.
type count struct {
	// scores holds the power behind each choice, and votes the ballots; only of
	// types whose rule is a plain sum, and by first preference for copeland.
	scores []amount
	votes  []int
	total  amount
	voters int
}

func newCount(choices int) *count {
	return &count{scores: make([]amount, choices), votes: make([]int, choices)}
}

// add counts a ballot.
func (c *count) add(kind voteType, b *ballot) {
	power := b.power.counted()
	c.total = c.total.plus(power)
	c.voters++
	picks := b.picks[:b.size]
	if kind != approval && len(picks) > 1 {
		picks = picks[:1]
	}
	for _, choice := range picks {
		c.scores[choice] = c.scores[choice].plus(power)
		c.votes[choice]++
	}
}

// number writes the amount as JSON.
func (a amount) number() json.Number {
	return json.Number(a.append(nil))
}

// atomsText writes the amount in a token's smallest units.
func (a amount) atomsText() string {
	return string(a.appendAtoms(nil))
}
