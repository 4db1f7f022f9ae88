package demo

import (
	"slices"
	"strconv"
	"time"
)

// shape says what a proposal asks of its voters.
type shape uint8

const (
	yesOrNo    shape = iota // for or against
	options                 // one of several ways to go
	slate                   // people or teams
	allocation              // how to divide something
)

// voteType is a voting system as Snapshot names it.
type voteType string

const (
	singleChoice voteType = "single-choice"
	basic        voteType = "basic"
	approval     voteType = "approval"
	rankedChoice voteType = "ranked-choice"
	weighted     voteType = "weighted"
	quadratic    voteType = "quadratic"
	copeland     voteType = "copeland"
)

// single says whether a ballot names one choice.
func (t voteType) single() bool {
	return t == singleChoice || t == basic
}

// family is a kind of proposal: the texts from which one is put together. Gaps in
// braces are filled by slots.
type family struct {
	// tag and category are those of the forum.
	tag, category string
	shape         shape
	// people says that the choices of a slate are people, not teams.
	people bool
	// titles hold one title each; of the others a proposal takes a few.
	titles, summary, motivation, steps, risks []string
	// costs are the lines of a budget; none where the proposal costs nothing.
	costs []string
	// choices are those of options and of an allocation.
	choices []string
}

// subject is what a proposal is about: what its title, its body, its choices and
// its forum topic have in common.
type subject struct {
	family  family
	title   string
	text    document
	closing string
	kind    voteType
	choices []string
}

// vocabulary holds everything texts are made of.
type vocabulary struct {
	nouns        nouns
	families     []family
	motivation   []string
	steps        []string
	risks        []string
	closings     []string
	approvals    [][]string
	talks        []talk
	reasons      []string
	byShape      map[shape][]family
	basicChoices []string
}

func newVocabulary() vocabulary {
	v := vocabulary{
		nouns: newNouns(), families: families(),
		motivation: commonMotivation(), steps: commonSteps(), risks: commonRisks(), closings: closings(),
		approvals: approvals(), talks: talks(), reasons: reasons(),
		byShape: map[shape][]family{}, basicChoices: []string{"For", "Against", "Abstain"},
	}
	for _, family := range v.families {
		v.byShape[family.shape] = append(v.byShape[family.shape], family)
	}
	return v
}

// drawSubject draws what a proposal of a DAO is about; from lists the families
// that come into question.
func (v vocabulary) drawSubject(d dice, dao *dao, from []family, at time.Time) subject {
	s := subject{family: pick(d, from)}
	words := v.drawSlots(d, dao, at)
	costs := drawCosts(d, s.family.costs, words)
	s.title = capital(words.fill(pick(d, s.family.titles)))
	s.kind, s.choices = v.drawChoices(d, s.family, words)
	s.text = v.drawText(d, s.family, words, dao.headings, costs)
	s.closing = words.fill(pick(d, v.closings))
	return s
}

// drawText puts together what is said about a subject wherever it is discussed.
func (v vocabulary) drawText(d dice, f family, words slots, h headings, costs []row) document {
	motivation := append(some(d, d.between(2, 3), f.motivation), some(d, d.IntN(3), v.motivation)...)
	steps := append(some(d, d.between(3, len(f.steps)), f.steps), some(d, d.IntN(3), v.steps)...)
	risks := append(some(d, d.between(1, 2), f.risks), some(d, d.IntN(2), v.risks)...)
	text := document{
		{heading: h.summary, paragraphs: words.fillAll(some(d, d.between(1, 2), f.summary))},
		{heading: h.motivation, paragraphs: words.fillAll(motivation)},
		{heading: h.steps, items: words.fillAll(steps)},
	}
	if len(costs) > 0 {
		unit := words.fill("Amounts in {currency}.")
		text = append(text, section{heading: h.costs, paragraphs: []string{unit}, rows: costs})
	}
	return append(text, section{heading: h.risks, paragraphs: words.fillAll(risks)})
}

// body returns the text of a proposal, which says how to vote on it.
func (s subject) body(h headings) document {
	body := append(slices.Clip(s.text), section{heading: h.voting, items: s.votingOptions()})
	if s.closing != "" {
		body = append(body, section{paragraphs: []string{s.closing}})
	}
	return body
}

// drawCosts draws the lines of a budget, and makes their sum the budget that the
// texts speak of.
func drawCosts(d dice, items []string, words slots) []row {
	if len(items) == 0 {
		return nil
	}
	var rows []row
	sum := 0
	for _, item := range some(d, d.between(3, len(items)), items) {
		cost := 5 * d.between(1, 6) * d.heavy(2)
		sum += cost
		rows = append(rows, row{words.fill(item), thousands(cost)})
	}
	words["budget"] = thousands(sum)
	return append(rows, row{"Total", thousands(sum)})
}

// votingOptions explains the choices.
func (s subject) votingOptions() []string {
	if s.family.shape != yesOrNo {
		return append(slices.Clone(s.choices), s.kind.explained())
	}
	means := []string{
		": the proposal is carried out as specified.",
		": nothing changes.",
		": counts towards the quorum and for neither side.",
	}
	options := make([]string, len(s.choices))
	for i, choice := range s.choices {
		options[i] = choice + means[i]
	}
	return options
}

// explained tells voters how to fill in their ballots.
func (t voteType) explained() string {
	switch t {
	case approval:
		return "Approve as many as you like."
	case rankedChoice, copeland:
		return "Rank the choices, the one you like best first."
	case weighted:
		return "Divide your voting power as you like."
	case quadratic:
		return "Divide your voting power as you like; many small voters outweigh one large one."
	case singleChoice, basic:
	}
	return "Choose one."
}

// drawChoices draws how a family's vote is held.
func (v vocabulary) drawChoices(d dice, f family, words slots) (voteType, []string) {
	switch f.shape {
	case options:
		kind := pick(d, []voteType{singleChoice, singleChoice, rankedChoice, approval})
		return kind, words.fillAll(f.choices)
	case slate:
		kind := pick(d, []voteType{approval, rankedChoice, approval, weighted})
		return kind, v.drawCandidates(d, f.people)
	case allocation:
		kind := pick(d, []voteType{weighted, quadratic})
		return kind, words.fillAll(some(d, d.between(4, len(f.choices)), f.choices))
	case yesOrNo:
	}
	if d.roll(2) {
		return basic, v.basicChoices
	}
	return singleChoice, pick(d, v.approvals)
}

// drawCandidates draws people or teams, none of them twice.
func (v vocabulary) drawCandidates(d dice, people bool) []string {
	var candidates []string
	for wanted := d.between(4, 9); len(candidates) < wanted; {
		candidate := v.nouns.person(d)
		if !people {
			candidate = pick(d, v.nouns.teamHeads) + " " + pick(d, v.nouns.teamTails)
		}
		if !slices.Contains(candidates, candidate) {
			candidates = append(candidates, candidate)
		}
	}
	return candidates
}

// numbered puts a proposal's number before its title, as some DAOs do.
func numbered(code string, number int, title string) string {
	if code == "" {
		return title
	}
	return code + "-" + strconv.Itoa(number) + ": " + title
}
