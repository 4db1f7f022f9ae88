package demo

import (
	"slices"
	"strconv"
	"time"
)

// voteType is a voting system, under the name that Snapshot gives it.
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

func (t voteType) namesOneChoice() bool {
	return t == singleChoice || t == basic
}

// instructions tells voters how to fill in a ballot.
func (t voteType) instructions() string {
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

// basicChoices returns the choices of a basic vote, and of every on-chain vote.
func basicChoices() []string {
	return []string{"For", "Against", "Abstain"}
}

// content is the text of a proposal and the choices it offers. The proposal and the
// forum topic about it share one content.
type content struct {
	template proposalTemplate
	title    string
	text     document
	// closing is the last sentence; it may be empty.
	closing  string
	voteType voteType
	choices  []string
}

// drawContent draws the content of a proposal of a DAO, written at the given time
// from one of the templates.
func (t texts) drawContent(
	rng random, dao *dao, templates []proposalTemplate, at time.Time,
) content {
	c := content{template: pick(rng, templates)}
	values := t.words.drawPlaceholders(rng, dao, at)
	costs := drawCosts(rng, c.template.Costs, values)
	c.title = capitalize(values.expand(pick(rng, c.template.Titles)))
	c.voteType, c.choices = t.drawVote(rng, c.template, values)
	c.text = t.drawText(rng, c.template, values, dao.headings, costs)
	c.closing = values.expand(pick(rng, t.common.Closings))
	return c
}

// drawText draws the sections that the proposal and its forum topic have in common.
func (t texts) drawText(
	rng random, p proposalTemplate, values placeholders, h headings, costs []row,
) document {
	// add draws some sentences of the template and up to two that fit any proposal.
	add := func(low, high int, own []string, common int, others []string) []string {
		drawn := sample(rng, rng.between(low, high), own)
		return values.expandAll(append(drawn, sample(rng, rng.IntN(common), others)...))
	}
	motivation := add(2, 3, p.Motivation, 3, t.common.Motivation)
	steps := add(3, len(p.Steps), p.Steps, 3, t.common.Steps)
	risks := add(1, 2, p.Risks, 2, t.common.Risks)
	summary := values.expandAll(sample(rng, rng.between(1, 2), p.Summary))
	text := document{
		{heading: h.summary, paragraphs: summary},
		{heading: h.motivation, paragraphs: motivation},
		{heading: h.steps, items: steps},
	}
	if len(costs) > 0 {
		unit := values.expand("Amounts in {currency}.")
		text = append(text, section{heading: h.costs, paragraphs: []string{unit}, rows: costs})
	}
	return append(text, section{heading: h.risks, paragraphs: risks})
}

// drawCosts draws the rows of a budget and sets the placeholder "budget" to their
// sum. It returns nil if there are no items.
func drawCosts(rng random, items []string, values placeholders) []row {
	if len(items) == 0 {
		return nil
	}
	var rows []row
	sum := 0
	for _, item := range sample(rng, rng.between(3, len(items)), items) {
		cost := 5 * rng.between(1, 6) * rng.heavyTailed(2)
		sum += cost
		rows = append(rows, row{values.expand(item), formatThousands(cost)})
	}
	values["budget"] = formatThousands(sum)
	return append(rows, row{"Total", formatThousands(sum)})
}

// drawVote draws a vote type that suits the template's question, and the choices.
func (t texts) drawVote(
	rng random, p proposalTemplate, values placeholders,
) (voteType, []string) {
	switch p.Question {
	case options:
		kind := pick(rng, []voteType{singleChoice, singleChoice, rankedChoice, approval})
		return kind, values.expandAll(p.Choices)
	case candidates:
		kind := pick(rng, []voteType{approval, rankedChoice, approval, weighted})
		return kind, t.words.drawCandidates(rng, p.People)
	case allocation:
		kind := pick(rng, []voteType{weighted, quadratic})
		count := rng.between(4, len(p.Choices))
		return kind, values.expandAll(sample(rng, count, p.Choices))
	case yesOrNo:
	}
	if rng.oneIn(2) {
		return basic, basicChoices()
	}
	return singleChoice, pick(rng, t.common.Approvals)
}

// drawCandidates draws the names of four to nine different people or teams.
func (words wordLists) drawCandidates(rng random, people bool) []string {
	var names []string
	for wanted := rng.between(4, 9); len(names) < wanted; {
		name := words.person(rng)
		if !people {
			name = pick(rng, words.TeamHeads) + " " + pick(rng, words.TeamTails)
		}
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// body returns the text of the proposal: the common text, how to vote, the closing.
func (c content) body(h headings) document {
	body := append(slices.Clip(c.text), section{heading: h.voting, items: c.votingOptions()})
	if c.closing != "" {
		body = append(body, section{paragraphs: []string{c.closing}})
	}
	return body
}

func (c content) votingOptions() []string {
	if c.template.Question != yesOrNo {
		return append(slices.Clone(c.choices), c.voteType.instructions())
	}
	meanings := []string{
		": the proposal is carried out as specified.",
		": nothing changes.",
		": counts towards the quorum and for neither side.",
	}
	explained := make([]string, len(c.choices))
	for i, choice := range c.choices {
		explained[i] = choice + meanings[i]
	}
	return explained
}

// numberTitle prefixes a title with the DAO's code and the proposal's number
// ("BRIP-12: …"). A DAO without a code does not number its proposals.
func numberTitle(code string, number int, title string) string {
	if code == "" {
		return title
	}
	return code + "-" + strconv.Itoa(number) + ": " + title
}
