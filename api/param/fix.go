package param

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"pnyx/governance"
)

// FixEscape is the fix for a query that is not properly escaped.
const FixEscape = "percent-encode everything but letters, digits and - . _ ~ in names and values"

// FixUnknown is the fix for a parameter that a route does not have, and that resembles none.
const FixUnknown = "leave it out"

// Fix returns how to correct an invalid value.
func (p Param) Fix(given string) string {
	switch p.Kind {
	case Integer:
		if number, err := strconv.Atoi(given); err == nil {
			return "use " + p.with(strconv.Itoa(min(max(number, p.Min), p.Max)))
		}
	case Boolean:
		if near := Nearest(given, []string{"true", "false"}); near != "" {
			return "did you mean " + p.with(near) + "?"
		}
	case Enum, EnumList:
		return p.fixEnum(given)
	case Instant:
		if at, found := meantInstant(given); found {
			return "did you mean " + p.with(at.String()) + "?"
		}
	case Cursor:
		return "start again without cursor, and go on with the nextCursor of each page"
	case Text, ProposalKey, TopicKey, Voter, Month:
	}
	return "give " + p.Allowed() + p.forExample()
}

func (p Param) fixEnum(given string) string {
	if len(given) > MaxTextBytes {
		return "use " + p.Allowed() + p.forExample()
	}
	parts := []string{given}
	if p.Kind == EnumList {
		parts = strings.Split(given, ",")
	}
	for i, part := range parts {
		if slices.Contains(p.Enum, part) {
			continue
		}
		if parts[i] = cmp.Or(MeantValue(part, p.Enum), Nearest(strings.TrimSpace(part), p.Enum)); parts[i] == "" {
			return "use " + p.Allowed() + p.forExample()
		}
	}
	return "did you mean " + p.with(strings.Join(parts, ",")) + "?"
}

// forExample returns a clause with the example of the parameter; empty without one.
func (p Param) forExample() string {
	if p.Example == "" {
		return ""
	}
	return ", for example " + p.with(p.Example)
}

// sample returns the parameter with its example, or only its name: an example may not suit the end of a range.
func (p Param) sample() string {
	if p.Example != "" && p.Kind != Instant {
		return p.with(p.Example)
	}
	return p.Name
}

// with returns the parameter with a value, as it is written in a request.
func (p Param) with(value string) string {
	if p.In == InPath {
		return value
	}
	return p.Name + "=" + value
}

// NoParameter is with what the message about a parameter begins that the route does not have.
const NoParameter = "is not a parameter of this endpoint"

// Unknown returns the problem with a parameter that the route does not have, and the most similar one.
func Unknown(name, given string, known []string) *Problem {
	problem := &Problem{
		Parameter: name, Given: given, Message: NoParameter,
		Allowed: AllowedNames(known), Fix: FixUnknown,
	}
	if near := cmp.Or(MeantParameter(name, known), Nearest(name, known)); near != "" {
		problem.Message += ", did you mean " + near + "?"
		problem.Fix = "use " + near + " instead"
	}
	return problem
}

// Nearest returns the nearest candidate of a text; none for a text longer than any.
func Nearest(text string, candidates []string) string {
	if len(text) > MaxTextBytes {
		return ""
	}
	return governance.Nearest(text, candidates)
}

// AllowedNames describes in words which names a query may have.
func AllowedNames(names []string) string {
	if len(names) == 0 {
		return "no query parameters"
	}
	return strings.Join(names, ", ")
}
