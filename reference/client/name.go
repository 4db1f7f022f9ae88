package client

import (
	"slices"
	"strings"
	"unicode"

	"pnyx/api/routes"
)

// methodWords returns the words of a method's name. They follow from the route's id, unless listed here.
func methodWords(route routes.Route) []string {
	if name, listed := map[string]string{
		"daos.timeline": "timeline", "proposals.resolve": "resolve proposal", "proposals.vote-summary": "vote summary",
		"proposals.votes": "ballots", "proposals.export": "ballot export", "proposals.export-part": "ballot export part",
		"proposals.evidence": "evidence", "voters.profile": "voter",
	}[route.ID]; listed {
		return strings.Fields(name)
	}
	group, rest, _ := strings.Cut(route.ID, ".")
	noun, verb := strings.Split(group, "-"), strings.Split(rest, "-")
	switch {
	case group == "meta":
		return verb
	case rest == "list":
		return noun
	}
	noun[len(noun)-1] = singular(noun[len(noun)-1])
	if rest == "detail" {
		return noun
	}
	return slices.Concat(noun, verb)
}

func singular(noun string) string { return strings.TrimSuffix(noun, "s") }

// wordsOf splits a name such as daoId into its words, in lower case.
func wordsOf(name string) []string {
	var words []string
	for i, r := range name {
		if i == 0 || unicode.IsUpper(r) {
			words = append(words, "")
		}
		words[len(words)-1] += string(unicode.ToLower(r))
	}
	return words
}

// camelCase joins words as TypeScript names methods.
func camelCase(words []string) string {
	name := pascalCase(words)
	return strings.ToLower(name[:1]) + name[1:]
}

// pascalCase joins words as TypeScript names types.
func pascalCase(words []string) string {
	var name strings.Builder
	for _, word := range words {
		name.WriteString(strings.ToUpper(word[:1]) + word[1:])
	}
	return name.String()
}

// snakeCase joins words as Python names do, and avoids its keywords that parameters have.
func snakeCase(words []string) string {
	name := strings.Join(words, "_")
	if name == "from" {
		name += "_"
	}
	return name
}

func goCase(words []string) string {
	var name strings.Builder
	for _, word := range words {
		switch word {
		case "dao", "id", "url":
			word = strings.ToUpper(word)
		case "daos":
			word = "DAOs"
		}
		name.WriteString(strings.ToUpper(word[:1]) + word[1:])
	}
	return name.String()
}
