package demo

type voteResult struct {
	// scores holds the power and votes the number of ballots per choice, for vote
	// types that add them up. For copeland they cover first preferences only.
	scores []amount
	votes  []int
	// total is the power of all ballots, voters their number.
	total  amount
	voters int
}

func newVoteResult(choices int) *voteResult {
	return &voteResult{scores: make([]amount, choices), votes: make([]int, choices)}
}

func (r *voteResult) add(kind voteType, b *ballot) {
	power := b.power.rounded()
	r.total = r.total.plus(power)
	r.voters++
	choices := b.choices[:b.choiceCount]
	if kind != approval && len(choices) > 1 {
		choices = choices[:1]
	}
	for _, choice := range choices {
		r.scores[choice] = r.scores[choice].plus(power)
		r.votes[choice]++
	}
}
