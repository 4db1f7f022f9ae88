package api

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"pnyx/governance"
)

// MaxTextBytes bounds a text parameter: no identifier upstream is longer.
const MaxTextBytes = 512

// MaxCursorBytes bounds a cursor: that of a row with the longest ids is shorter.
const MaxCursorBytes = 2 << 10

// Kind is how the text of a parameter is read.
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

// Location is where a parameter stands in a request.
type Location string

// The locations; a parameter stands in the query unless it says otherwise.
const (
	InQuery Location = ""
	InPath  Location = "path"
)

// Param describes one parameter of a route.
type Param struct {
	// Name is the name in the path or the query.
	Name string
	// In is where the parameter stands; zero for the query.
	In Location
	// Kind is how the text is read.
	Kind Kind
	// Required parameters have to be given; those in a path always are.
	Required bool
	// Default is what holds when the parameter is not given; empty for nothing.
	Default string
	// Min and Max bound an Integer.
	Min, Max int
	// Enum lists what an Enum, or each of an EnumList, may be.
	Enum []string
	// Description is what the parameter means, for documents.
	Description string
	// Example is a value as text, for documents; empty for none.
	Example string
	// MustExist says that the answer is 404 when there is no such thing. What a path
	// names always must.
	MustExist bool
}

// Allowed says in words what a value may be.
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
		return "an RFC 3339 time, or a date for midnight UTC"
	case Month:
		return "a month as YYYY-MM"
	case Text, Voter:
	}
	return fmt.Sprintf("a text of 1 to %d bytes", MaxTextBytes)
}

// parse reads one value. The result's type follows the kind: int, bool,
// []string (sorted, each once), governance.Timestamp, or string.
func (p Param) parse(text string) (any, error) {
	switch p.Kind {
	case Integer:
		number, err := strconv.Atoi(text)
		if err != nil || number < p.Min || number > p.Max || text[0] == '+' {
			return nil, fmt.Errorf("must be %s", p.Allowed())
		}
		return number, nil
	case Boolean:
		if text != "true" && text != "false" {
			return nil, fmt.Errorf("must be %s", p.Allowed())
		}
		return text == "true", nil
	case Enum:
		if !slices.Contains(p.Enum, text) {
			return nil, fmt.Errorf("must be %s", p.Allowed())
		}
	case EnumList:
		chosen := strings.Split(text, ",")
		for _, one := range chosen {
			if !slices.Contains(p.Enum, one) {
				return nil, fmt.Errorf("must be %s", p.Allowed())
			}
		}
		slices.Sort(chosen)
		return slices.Compact(chosen), nil
	case ProposalKey:
		if _, err := governance.ParseProposalKey(text); err != nil {
			return nil, fmt.Errorf("must be %s", p.Allowed())
		}
	case TopicKey:
		if _, err := governance.ParseTopicKey(text); err != nil {
			return nil, fmt.Errorf("must be %s", p.Allowed())
		}
	case Instant:
		stamp, err := governance.ParseTimestamp(text)
		if err != nil {
			return nil, fmt.Errorf("must be %s", p.Allowed())
		}
		return stamp, nil
	case Month:
		if parsed, err := time.Parse(monthLayout, text); err != nil || parsed.Year() < 1970 || parsed.Year() > governance.MaxYear {
			return nil, fmt.Errorf("must be %s", p.Allowed())
		}
	case Cursor:
		if len(text) > MaxCursorBytes || !utf8.ValidString(text) || strings.ContainsRune(text, 0) {
			return nil, fmt.Errorf("must be %s", p.Allowed())
		}
	case Text, Voter:
		if len(text) > MaxTextBytes || !utf8.ValidString(text) || strings.ContainsRune(text, 0) {
			return nil, fmt.Errorf("must be %s", p.Allowed())
		}
	}
	if p.Kind == Voter {
		return governance.VoterIdentity(text), nil
	}
	return text, nil
}
