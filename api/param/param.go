// Package param holds the parameters of routes: what they are, how their texts are read, and what
// is wrong with a text, with a fix. It knows no route and no HTTP; package api reads requests by it.
package param

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"pnyx/governance"
)

// MonthLayout is the layout of months in requests and answers.
const MonthLayout = "2006-01"

// MaxTextBytes is the maximum length of a text parameter. No upstream identifier is longer.
const MaxTextBytes = 512

// MaxCursorBytes bounds a cursor: the cursor of a row with the longest ids is shorter.
const MaxCursorBytes = 2 << 10

// Kind is how the text of a parameter is parsed.
type Kind string

// The kinds of parameters.
const (
	Text        Kind = "text"
	Integer     Kind = "integer"
	Boolean     Kind = "boolean"
	Enum        Kind = "enum"
	EnumList    Kind = "enumList"
	Cursor      Kind = "cursor"
	ProposalKey Kind = "proposalKey"
	TopicKey    Kind = "topicKey"
	Voter       Kind = "voterIdentity"
	Instant     Kind = "timestamp"
	Month       Kind = "month"
)

// Location is the part of a request that a parameter is in.
type Location string

// The locations. The zero value is the query.
const (
	InQuery Location = ""
	InPath  Location = "path"
)

// Param describes one parameter of a route.
type Param struct {
	Name string
	In   Location
	Kind Kind
	// Required says that a request without the parameter is refused. A path always has its own.
	Required bool
	// Default is the value when the parameter is not given; empty for none.
	Default string
	// Min and Max are the lowest and highest value of an Integer.
	Min, Max int
	// Enum lists the values that an Enum, or each element of an EnumList, may have.
	Enum []string
	// Set is the type whose values Enum lists; nil without Enum.
	Set         reflect.Type
	Description string
	// Example is a value that works, as the documents show it; empty for none.
	Example string
	// Sample says that examples of requests give the parameter, though it is not required: one of several has to
	// be given.
	Sample bool
	// Unbound says that a cursor may be used with another value.
	Unbound bool
	// MustExist says that a value that names nothing is 404. In the path that is always so.
	MustExist bool
	// Addition marks a parameter that the contract does not have.
	Addition bool
}

// Allowed describes in words which values are allowed.
func (p Param) Allowed() string {
	switch p.Kind {
	case Integer:
		return fmt.Sprintf("an integer from %d to %d", p.Min, p.Max)
	case Boolean:
		return "true or false"
	case Enum:
		return "one of " + strings.Join(p.Enum, ", ")
	case EnumList:
		return "one or more of " + strings.Join(p.Enum, ", ") + ", joined by commas"
	case Cursor:
		return "the nextCursor of an earlier page, unchanged"
	case ProposalKey:
		return "p1_ and 22 base64url characters, as lists return it"
	case TopicKey:
		return "t1_ and 22 base64url characters, as lists return it"
	case Instant:
		return fmt.Sprintf("an RFC 3339 time from 1970 to %d, or a date for midnight UTC", governance.MaxYear)
	case Month:
		return fmt.Sprintf("a month as YYYY-MM, from 1970 to %d", governance.MaxYear)
	case Text, Voter:
	}
	return fmt.Sprintf("a text of 1 to %d bytes", MaxTextBytes)
}

// parse parses one value to int, bool, []string (sorted, each once), governance.Timestamp, or string, if allowed.
func (p Param) parse(text string) (any, bool) {
	switch p.Kind {
	case Integer:
		number, err := strconv.Atoi(text)
		return number, err == nil && number >= p.Min && number <= p.Max && text[0] != '+'
	case Boolean:
		return text == "true", text == "true" || text == "false"
	case Enum:
		return text, slices.Contains(p.Enum, text)
	case EnumList:
		chosen := strings.Split(text, ",")
		strange := slices.ContainsFunc(chosen, func(one string) bool { return !slices.Contains(p.Enum, one) })
		slices.Sort(chosen)
		return slices.Compact(chosen), !strange
	case ProposalKey:
		_, err := governance.ParseProposalKey(text)
		return text, err == nil
	case TopicKey:
		_, err := governance.ParseTopicKey(text)
		return text, err == nil
	case Instant:
		stamp, err := governance.ParseBound(text)
		return stamp, err == nil
	case Month:
		parsed, err := time.Parse(MonthLayout, text)
		return text, err == nil && parsed.Year() >= 1970 && parsed.Year() <= governance.MaxYear
	case Cursor:
		return text, len(text) <= MaxCursorBytes && isText(text)
	case Voter:
		return governance.VoterIdentity(text), len(text) <= MaxTextBytes && isText(text)
	case Text:
	}
	return text, len(text) <= MaxTextBytes && isText(text)
}

// JSON returns the value of a text as JSON has it: a number, true or false, a list, or the text.
func (p Param) JSON(text string) any {
	switch p.Kind {
	case Integer:
		if number, err := strconv.Atoi(text); err == nil {
			return number
		}
	case Boolean:
		return text == "true"
	case EnumList:
		return strings.Split(text, ",")
	case Text, Enum, Cursor, ProposalKey, TopicKey, Voter, Instant, Month:
	}
	return text
}

// isText reports whether a value is UTF-8 without a zero byte.
func isText(value string) bool { return utf8.ValidString(value) && !strings.ContainsRune(value, 0) }

// Read returns the value of a parameter, or the problem with it; neither for one that is left out.
func (p Param) Read(given map[string]string) (any, *Problem) {
	text, found := given[p.Name]
	if !found {
		text = p.Default
	}
	if text == "" && !found {
		if !p.Required {
			return nil, nil
		}
		return nil, &Problem{
			Parameter: p.Name, Message: "is required", Allowed: p.Allowed(), Fix: "add " + p.sample(),
		}
	}
	value, allowed := p.parse(text)
	if !allowed {
		return nil, &Problem{
			Parameter: p.Name, Given: text, Message: "must be " + p.Allowed(), Allowed: p.Allowed(), Fix: p.Fix(text),
		}
	}
	return value, nil
}

// FormatValue returns the canonical text of a parsed value.
func FormatValue(value any) string {
	switch value := value.(type) {
	case string:
		return value
	case int:
		return strconv.Itoa(value)
	case bool:
		return strconv.FormatBool(value)
	case []string:
		return strings.Join(value, ",")
	case governance.Timestamp:
		return value.String()
	}
	return ""
}
