package client

import (
	"slices"
	"strings"
	"unicode"

	"pnyx/api/routes"
)

// methodWords returns the words of the name of a route's method. They follow from the id
// of the route; the names that would read badly are listed here.
func methodWords(route routes.Route) []string {
	switch route.ID {
	case "daos.timeline":
		return []string{"timeline"}
	case "proposals.resolve":
		return []string{"resolve", "proposal"}
	case "proposals.vote-summary":
		return []string{"vote", "summary"}
	case "proposals.votes":
		return []string{"ballots"}
	case "proposals.export":
		return []string{"ballot", "export"}
	case "proposals.export-part":
		return []string{"ballot", "export", "part"}
	case "proposals.evidence":
		return []string{"evidence"}
	case "voters.profile":
		return []string{"voter"}
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

// rowName returns the name of one row of a list, as code that walks it has it.
func rowName(route routes.Route) string {
	words := methodWords(route)
	return singular(words[len(words)-1])
}

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

// snakeCase joins words as Python names methods and parameters, and avoids the keywords
// of Python that parameters have.
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
