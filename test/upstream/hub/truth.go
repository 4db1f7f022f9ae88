package hub

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Truth is what a follower has to arrive at.
type Truth struct {
	// Spaces and Proposals are those not deleted, by id.
	Spaces    map[string]Space
	Proposals map[string]ProposalTruth
}

// ProposalTruth is a proposal as it is now.
type ProposalTruth struct {
	Space, Title string
	Flagged      bool // as spam
	// Votes are by voter in lower case. Encrypted votes are not among them.
	Votes map[string]VoteTruth
	// Encrypted is the number of votes that are not revealed.
	Encrypted int
}

// VoteTruth is a vote that counts.
type VoteTruth struct {
	// Choice is JSON, Power the answered number, and Created the signer's time in seconds.
	ID, Choice, Power string
	Created           int64
}

// Truth returns the hub's content.
func (h *Hub) Truth() Truth {
	h.mu.Lock()
	defer h.mu.Unlock()
	truth := Truth{Spaces: map[string]Space{}, Proposals: map[string]ProposalTruth{}}
	for id, s := range h.spaces {
		if !s.deleted {
			truth.Spaces[id] = s.Space
		}
	}
	for id, p := range h.proposals {
		if !h.visible(p) {
			continue
		}
		of := ProposalTruth{Space: p.Space, Title: p.Title, Flagged: p.flagged, Votes: map[string]VoteTruth{}}
		for voter, v := range p.votes {
			text, _ := json.Marshal(power(v.Power))
			of.Votes[voter] = VoteTruth{ID: v.id, Choice: strings.Trim(v.Choice, `"`), Power: string(text), Created: v.created}
		}
		if p.encrypted() {
			of.Encrypted, of.Votes = len(of.Votes), map[string]VoteTruth{}
		}
		truth.Proposals[id] = of
	}
	return truth
}

// power is a stored power as it is answered: the nearest double.
func power(stored string) float64 {
	double, _ := strconv.ParseFloat(stored, 64)
	return double
}

// score states scores in the order of the votes' ids, as doubles: sums differ in the last digits.
func (p *proposal) score(now int64) {
	p.scores, p.total = make([]float64, len(p.Choices)), 0
	for _, voter := range slices.Sorted(maps.Keys(p.votes)) {
		v := p.votes[voter]
		p.total += power(v.Power)
		if !p.encrypted() {
			p.add(v)
		}
	}
	p.stated, p.scoresUpdated, p.dirty = len(p.votes), now, false
}

// add adds the power of one vote to the scores.
func (p *proposal) add(v *vote) {
	var one int
	var several []int
	var weights map[string]float64
	choice := []byte(v.Choice)
	switch {
	case json.Unmarshal(choice, &one) == nil:
		several = []int{one}
	case json.Unmarshal(choice, &several) == nil:
		if strings.HasPrefix(p.Type, "ranked") && len(several) > 1 {
			several = several[:1]
		}
	case json.Unmarshal(choice, &weights) == nil:
		whole := 0.0
		for _, weight := range weights {
			whole += weight
		}
		for position, weight := range weights {
			if n, err := strconv.Atoi(position); err == nil && n <= len(p.scores) && whole > 0 {
				p.scores[n-1] += power(v.Power) * weight / whole
			}
		}
	}
	for _, n := range several {
		if n >= 1 && n <= len(p.scores) {
			p.scores[n-1] += power(v.Power)
		}
	}
}
