package rules

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// RelevantFrom is the score from which a topic is about governance. One that is linked to a proposal always is.
const RelevantFrom = 30

// TopicFacts is the input of the relevance of a forum topic.
type TopicFacts struct {
	Title, Category string
	Tags            []string
	// Body is the first post as plain text, and Replies counts the posts after it.
	Body    string
	Replies uint64
	// Proposals counts the proposals that the topic links to or that link to it.
	Proposals int
}

// TopicRule is one reason for which a topic is more or less relevant to governance.
type TopicRule struct {
	Name string
	// Meaning says in words when the rule applies, and Points are added to the score when it does.
	Meaning string
	Points  int
	applies bool
}

// topicWords is the input of a rule: the topic's texts as words in lower case.
type topicWords struct {
	TopicFacts
	// marks are the words in square brackets of the title.
	title, marks, category, tags, body []string
}

// The words that the rules search for. The rules' meanings are generated from the same lists.
const (
	categoryTerms = "accountability citizens committee committees constitution council councils delegate delegates delegation elected " +
		"election elections governance grant grants intents metagovernance missions policies policy proposal proposals " +
		"protocol representatives treasury upgrade upgrades vote votes voting"
	proposalTerms = "aip amended amendment bip eip proposal proposals ratification referendum rfc sip temperature tip"
	stageTerms    = "aip arfc bip draft discussion eip final passed proposal ready rfc sip temperature tip"
	titleTerms    = "accountability allocation budget charter committee committees constitution council councils delegate delegates " +
		"delegation decentralization election elections fund funding governance grant grants incentive incentives intent intents " +
		"metagovernance mission missions multisig nomination parameter parameters policies policy quorum rewards signer signers " +
		"snapshot treasury upgrade upgrades vote voter voters votes voting"
	bodyTerms = "budget committee constitution council delegate delegates election governance grant grants proposal proposals quorum " +
		"ratify snapshot token-holders treasury vote voted voters votes voting"
	offTopicTerms = "introductions introduce jobs lounge marketplace memes meta off-topic offtopic random support trading"
	decisionTerms = "airdrop airdrops budget budgets candidate candidates election elections funding grant grantee grantees grants " +
		"nomination nominations nominees pgf retro retroactive retrofunding retropgf rpgf"
	stubTitle = "about the"
)

// Thresholds of the rules that count.
const (
	minBodyTerms = 4
	longBody     = 1500
	someReplies  = 10
	manyReplies  = 50
)

// TopicRules lists all rules. The score is the sum of the points of those that apply, from 0 to 100.
func TopicRules() []TopicRule { return topicRules(topicWords{}) }

// topicRules returns the rules, and of each whether it applies to a topic.
func topicRules(t topicWords) []TopicRule {
	const oneOf = " has one of the words "
	title := strings.Join(t.title, " ")
	return []TopicRule{
		{
			"linked_proposal", "A proposal names the topic as its discussion, or the first post links a proposal.", 40,
			t.Proposals > 0,
		},
		{"category", "The category's name" + oneOf + listed(categoryTerms) + ".", 25, countOf(t.category, categoryTerms) > 0},
		{"proposal_title", "The title" + oneOf + listed(proposalTerms) + ".", 20, countOf(t.title, proposalTerms) > 0},
		{
			"stage_mark", "The title has, in square brackets, one of the words " + listed(stageTerms) + ".", 15,
			countOf(t.marks, stageTerms) > 0,
		},
		{"governance_title", "The title" + oneOf + listed(titleTerms) + ".", 20, countOf(t.title, titleTerms) > 0},
		{"two_governance_words", "The title has two of these words.", 10, countOf(t.title, titleTerms) > 1},
		{
			"decision_title", "The title" + oneOf + listed(decisionTerms) + ": it is about funds or offices that a vote gives.", 30,
			countOf(t.title, decisionTerms) > 0,
		},
		{
			"tag", "A tag has one of the words of category, proposal_title or governance_title, or begins with \"cycle-\" or \"season-\".", 10,
			countOf(t.tags, categoryTerms+" "+proposalTerms+" "+titleTerms) > 0 || slices.ContainsFunc(t.Tags, isPeriod),
		},
		{
			"body", fmt.Sprintf("The first post has at least %d of the words %s.", minBodyTerms, listed(bodyTerms)), 15,
			countOf(t.body, bodyTerms) >= minBodyTerms,
		},
		{
			"long_post", fmt.Sprintf("The first post has at least %d characters.", longBody), 5,
			utf8.RuneCountInString(t.Body) >= longBody,
		},
		{"replies", fmt.Sprintf("There are at least %d replies.", someReplies), 5, t.Replies >= someReplies},
		{"many_replies", fmt.Sprintf("There are at least %d replies.", manyReplies), 5, t.Replies >= manyReplies},
		{"off_topic", "The category's name" + oneOf + listed(offTopicTerms) + ".", -25, countOf(t.category, offTopicTerms) > 0},
		{
			"category_stub", "The title is \"About the … category\": the forum's own description of a category.", -60,
			strings.HasPrefix(title, stubTitle+" ") && strings.HasSuffix(title, " category"),
		},
	}
}

// TopicRelevance returns a topic's score and whether it is about governance.
func TopicRelevance(facts TopicFacts) (score int, related bool) {
	t := topicWords{
		TopicFacts: facts,
		title:      wordsOf(facts.Title), marks: wordsOf(bracketed(facts.Title)),
		category: wordsOf(facts.Category), tags: wordsOf(strings.Join(facts.Tags, " ")), body: wordsOf(facts.Body),
	}
	for _, rule := range topicRules(t) {
		if rule.applies {
			score += rule.Points
		}
	}
	score = min(max(score, 0), 100)
	return score, score >= RelevantFrom || facts.Proposals > 0
}

// TopicRulesMarkdown returns the rules, with their points, as a list for documents.
func TopicRulesMarkdown() string {
	var list strings.Builder
	for _, rule := range TopicRules() {
		fmt.Fprintf(&list, "- `%s` (%+d): %s\n", rule.Name, rule.Points, rule.Meaning)
	}
	fmt.Fprintf(&list, "\n`relevanceScore` is the sum, from 0 to 100. `governanceRelated` is true from %d, and for every linked topic.\n", RelevantFrom)
	return list.String()
}

func isPeriod(tag string) bool {
	return strings.HasPrefix(tag, "cycle-") || strings.HasPrefix(tag, "season-")
}

// wordsOf splits a text into its words, in lower case. A hyphen splits too.
func wordsOf(text string) []string {
	return strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsNumber(r)
	})
}

// bracketed returns the text inside of square brackets.
func bracketed(title string) string {
	var marks strings.Builder
	for part := range strings.SplitSeq(title, "[") {
		if mark, _, closed := strings.Cut(part, "]"); closed {
			marks.WriteString(mark + " ")
		}
	}
	return marks.String()
}

// countOf counts how many of the terms are among the words. Hyphens split terms, as they do texts.
func countOf(words []string, terms string) (found int) {
	text := " " + strings.Join(words, " ") + " "
	for term := range strings.FieldsSeq(terms) {
		if strings.Contains(text, " "+strings.ReplaceAll(term, "-", " ")+" ") {
			found++
		}
	}
	return found
}

func listed(terms string) string { return strings.Join(strings.Fields(terms), ", ") }
