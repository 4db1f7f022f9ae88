package governance

import (
	"container/heap"
	"maps"
	"slices"

	"github.com/shopspring/decimal"
)

// Ranking is a group of ballots that name the same choices in the same order.
type Ranking struct {
	// Choices holds choice keys, the first preference first, none twice.
	Choices []string
	// Form is how they state their choices.
	Form ChoiceForm
	// Votes is the number of ballots.
	Votes uint64
	// Power is the sum of their voting power.
	Power decimal.Decimal
	// Shares and Roots are the sums of the parts of their power for each of Choices, and of the
	// square roots of these; nil unless the ballots are weighted.
	Shares, Roots []decimal.Decimal
}

// Score is the result of one choice.
type Score struct {
	// Votes is the number of ballots that support the choice.
	Votes uint64
	// Power is the voting power that they give it.
	Power decimal.Decimal
}

// InstantRunoff counts ranked ballots by instant-runoff voting as Snapshot does, and
// returns the scores of the last round by choice key. Each round eliminates the choice
// with the least power (of equals, the first by compare), until one choice has more than
// half of the power still counting, or only two choices remain. A choice that any ballot
// still ranks takes part in a round even without first preferences; a ballot whose choices
// are all eliminated stops counting.
//
// The work is linear in the preferences of all ballots, plus c log c for c choices:
// eliminating a choice touches no ballot but those that count for it.
func InstantRunoff(ballots []Ranking, compare func(a, b string) int) map[string]Score {
	r := newRunoff(ballots, compare)
	for r.standing.Len() > 2 && !r.hasMajority() {
		r.eliminateWeakest()
	}
	last := make(map[string]Score, r.standing.Len())
	for _, choice := range r.standing.choices {
		last[r.keys[choice]] = r.scores[choice]
	}
	return last
}

// runoff is a count in progress. A choice is a number: its index in keys.
type runoff struct {
	// keys are all choices that ballots rank, in the order that decides between equals.
	keys []string
	// ballots are those with a preference left. Each counts for the first of its preferences, by the same index.
	ballots     []Ranking
	preferences [][]int
	// scores and supporters are by choice: its result so far, and the ballots it consists of.
	scores     []Score
	supporters [][]int
	eliminated []bool
	standing   standing
	// total is the power of all ballots that still count.
	total decimal.Decimal
	// strongest is the largest power of any choice. A standing one has it: choices
	// only gain power, and only the weakest is eliminated.
	strongest decimal.Decimal
}

// newRunoff counts every ballot for its first preference.
func newRunoff(ballots []Ranking, compare func(a, b string) int) *runoff {
	numbers := map[string]int{}
	for _, ballot := range ballots {
		for _, key := range ballot.Choices {
			numbers[key] = 0
		}
	}
	keys := slices.SortedFunc(maps.Keys(numbers), compare)
	for number, key := range keys {
		numbers[key] = number
	}
	r := &runoff{
		keys: keys, ballots: ballots, preferences: make([][]int, len(ballots)),
		scores: make([]Score, len(keys)), supporters: make([][]int, len(keys)),
		eliminated: make([]bool, len(keys)),
	}
	for i, ballot := range ballots {
		preferences := make([]int, len(ballot.Choices))
		for j, key := range ballot.Choices {
			preferences[j] = numbers[key]
		}
		r.preferences[i] = preferences
		r.total = r.total.Add(ballot.Power)
		r.count(i)
	}
	r.standing = newStanding(r.scores)
	return r
}

// count adds a ballot to its first preference that is left. A ballot without one no longer counts.
func (r *runoff) count(ballot int) {
	left := r.preferences[ballot]
	for len(left) > 0 && r.eliminated[left[0]] {
		left = left[1:]
	}
	r.preferences[ballot] = left
	power := r.ballots[ballot].Power
	if len(left) == 0 {
		r.total = r.total.Sub(power)
		return
	}
	choice := left[0]
	score := &r.scores[choice]
	score.Votes += r.ballots[ballot].Votes
	score.Power = score.Power.Add(power)
	r.supporters[choice] = append(r.supporters[choice], ballot)
	if score.Power.GreaterThan(r.strongest) {
		r.strongest = score.Power
	}
}

// hasMajority reports whether a choice has more than half of the power.
func (r *runoff) hasMajority() bool { return r.strongest.Add(r.strongest).GreaterThan(r.total) }

// eliminateWeakest counts the ballots of the weakest choice for their next preferences.
func (r *runoff) eliminateWeakest() {
	weakest := r.standing.removeWeakest(r.scores)
	r.eliminated[weakest] = true
	for _, ballot := range r.supporters[weakest] {
		r.count(ballot)
	}
	r.supporters[weakest] = nil
}

// standing is a heap of the choices that are not eliminated, the weakest first. It is corrected
// when a choice comes first: power that a choice has gained since only places it too early.
type standing struct {
	choices []int
	// power is that by which a choice was placed, by choice.
	power []decimal.Decimal
}

func newStanding(scores []Score) standing {
	s := standing{choices: make([]int, len(scores)), power: make([]decimal.Decimal, len(scores))}
	for choice, score := range scores {
		s.choices[choice], s.power[choice] = choice, score.Power
	}
	heap.Init(&s)
	return s
}

// removeWeakest removes the choice with the least power, of equals the first.
func (s *standing) removeWeakest(scores []Score) int {
	for {
		first := s.choices[0]
		if scores[first].Power.Equal(s.power[first]) {
			heap.Pop(s)
			return first
		}
		s.power[first] = scores[first].Power
		heap.Fix(s, 0)
	}
}

// Len implements heap.Interface, as the four methods below do.
func (s *standing) Len() int { return len(s.choices) }

// Less puts the choice that is eliminated next first.
func (s *standing) Less(i, j int) bool {
	a, b := s.choices[i], s.choices[j]
	if order := s.power[a].Cmp(s.power[b]); order != 0 {
		return order < 0
	}
	return a < b
}

// Swap exchanges two places.
func (s *standing) Swap(i, j int) { s.choices[i], s.choices[j] = s.choices[j], s.choices[i] }

// Push is not used: choices are only removed.
func (*standing) Push(any) { panic("a choice that is eliminated stays so") }

// Pop removes the last choice, which heap.Pop has made the weakest.
func (s *standing) Pop() any {
	last := len(s.choices) - 1
	choice := s.choices[last]
	s.choices = s.choices[:last]
	return choice
}
