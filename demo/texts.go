package demo

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"strings"
)

// textFiles hold every invented text. A text may contain placeholders such as
// "{asset}" (see placeholders).
//
//go:embed texts/*.json
var textFiles embed.FS

// question says what a proposal asks its voters.
type question string

const (
	yesOrNo    question = "yes_or_no"  // for or against
	options    question = "options"    // one of several alternatives
	candidates question = "candidates" // people or teams to elect
	allocation question = "allocation" // how to divide a budget
)

// proposalTemplate holds the texts of one kind of proposal. A proposal takes one
// title and a random sample of each other list.
type proposalTemplate struct {
	// Question decides the vote types and where the choices come from.
	Question question `json:"question"`
	// People is true if the candidates are people, false if they are teams.
	People bool `json:"people"`
	// Category and Tag classify the forum topic about the proposal.
	Category string `json:"category"`
	Tag      string `json:"tag"`
	// Titles are complete titles.
	Titles []string `json:"titles"`
	// Summary, Motivation, Steps and Risks are sentences of the section of that name.
	Summary    []string `json:"summary"`
	Motivation []string `json:"motivation"`
	Steps      []string `json:"steps"`
	Risks      []string `json:"risks"`
	// Costs are budget items; empty if the proposal costs nothing.
	Costs []string `json:"costs"`
	// Choices are the choices of options and allocation questions.
	Choices []string `json:"choices"`
}

// topicTemplate holds the texts of one kind of forum topic that is not about a
// proposal.
type topicTemplate struct {
	Category   string   `json:"category"`
	Tag        string   `json:"tag"`
	Titles     []string `json:"titles"`
	Paragraphs []string `json:"paragraphs"`
	Items      []string `json:"items"`
}

type commonTexts struct {
	Motivation []string `json:"motivation"`
	Steps      []string `json:"steps"`
	Risks      []string `json:"risks"`
	// Closings end a proposal; an empty one ends it without a closing sentence.
	Closings []string `json:"closings"`
	// Approvals are the choices of yes-or-no votes in several wordings. The first
	// choice approves, the second rejects, an optional third abstains.
	Approvals [][]string `json:"approvals"`
	// Opinions and Arguments combine into the reasons of voters. They contain no
	// character that JSON escapes: ballot lines copy them verbatim.
	Opinions  []string `json:"opinions"`
	Arguments []string `json:"arguments"`
}

// wordLists are the values of placeholders and the parts of names. All names are
// invented.
type wordLists struct {
	// NameHeads, NameTails and NameSuffixes form DAO names: "Brackwater Finance".
	NameHeads    []string `json:"nameHeads"`
	NameTails    []string `json:"nameTails"`
	NameSuffixes []string `json:"nameSuffixes"`

	FirstNames   []string `json:"firstNames"`
	LastNames    []string `json:"lastNames"`
	TeamHeads    []string `json:"teamHeads"`
	TeamTails    []string `json:"teamTails"`
	AuditorTails []string `json:"auditorTails"`

	Chains     []string `json:"chains"`
	Assets     []string `json:"assets"`
	Markets    []string `json:"markets"`
	Contracts  []string `json:"contracts"`
	Councils   []string `json:"councils"`
	Programs   []string `json:"programs"`
	Services   []string `json:"services"`
	Cities     []string `json:"cities"`
	Multisigs  []string `json:"multisigs"`
	Caps       []string `json:"caps"` // in ascending order
	Budgets    []string `json:"budgets"`
	Currencies []string `json:"currencies"`
	Months     []string `json:"months"`

	// ForumCategories are the categories of every forum. Templates name them.
	ForumCategories []string `json:"forumCategories"`
}

// texts holds everything that titles, bodies, names and reasons are made of.
type texts struct {
	words      wordLists
	common     commonTexts
	proposals  []proposalTemplate
	topics     []topicTemplate
	byQuestion map[question][]proposalTemplate
	// reasons are the reasons that voters give.
	reasons []string
}

func loadTexts() (texts, error) {
	t := texts{byQuestion: map[question][]proposalTemplate{}}
	for _, file := range []struct {
		name string
		into any
	}{
		{"words", &t.words},
		{"common", &t.common},
		{"proposals", &t.proposals},
		{"topics", &t.topics},
	} {
		content, err := textFiles.ReadFile("texts/" + file.name + ".json")
		if err != nil {
			return texts{}, err
		}
		decoder := json.NewDecoder(bytes.NewReader(content))
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(file.into); err != nil {
			return texts{}, fmt.Errorf("decode texts/%s.json: %w", file.name, err)
		}
	}
	for _, template := range t.proposals {
		t.byQuestion[template.Question] = append(t.byQuestion[template.Question], template)
	}
	t.reasons = combineReasons(t.common.Opinions, t.common.Arguments)
	return t, nil
}

// combineReasons returns every argument alone and after every opinion.
func combineReasons(opinions, arguments []string) []string {
	reasons := make([]string, 0, len(opinions)*len(arguments)+len(arguments))
	for _, argument := range arguments {
		reasons = append(reasons, argument)
		for _, opinion := range opinions {
			reasons = append(reasons, opinion+" "+argument)
		}
	}
	return reasons
}

// shortNames returns the number of distinct short DAO names.
func (words wordLists) shortNames() int {
	return len(words.NameHeads) * len(words.NameTails)
}

// shortName returns the i-th short DAO name: "Brackwater".
func (words wordLists) shortName(i int) string {
	head := words.NameHeads[i%len(words.NameHeads)]
	return head + words.NameTails[i/len(words.NameHeads)%len(words.NameTails)]
}

func (words wordLists) person(rng random) string {
	return pick(rng, words.FirstNames) + " " + pick(rng, words.LastNames)
}

func (words wordLists) username(rng random) string {
	name := words.person(rng)
	if rng.oneIn(3) {
		return strings.ReplaceAll(name, " ", "")
	}
	return strings.ToLower(strings.ReplaceAll(name, " ", "."))
}
