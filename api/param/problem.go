package param

import (
	"fmt"
	"strings"
	"time"

	"pnyx/governance"
)

// MaxProblems bounds how many problems an answer lists.
const MaxProblems = 20

// Problem is one thing that is wrong with the parameters of a request.
type Problem struct {
	// Parameter is the parameter's name, cut if long; empty where the whole query is wrong.
	Parameter string `json:"parameter,omitempty"`
	// Given is the value in the request; a long one is cut.
	Given   string `json:"given,omitempty"`
	Message string `json:"message"`
	Allowed string `json:"allowed"`
	Fix     string `json:"fix"`
}

// Empty returns the problem with a parameter without a value.
func (p Param) Empty() Problem {
	if p.Required {
		return Problem{Parameter: p.Name, Message: "is empty", Allowed: p.Allowed(), Fix: "give a value, for example " + p.sample()}
	}
	return Problem{
		Parameter: p.Name, Message: "is empty", Allowed: "a value, or leave the parameter out",
		Fix: "leave " + p.Name + " out, or give it a value",
	}
}

// CheckOrder rejects a range between two parameters that ends before it begins. An empty range is allowed, and so is
// an end that is nil, because it is missing or invalid.
func CheckOrder(fromName string, from *governance.Timestamp, toName string, to *governance.Timestamp) []Problem {
	if from == nil || to == nil || *from <= *to {
		return nil
	}
	return []Problem{{
		Parameter: fromName, Given: from.String(), Message: "is after " + toName, Allowed: "a time up to " + to.String(),
	}}
}

// CheckWindow rejects a range of the parameters from and to that is reversed or longer than a maximum.
func CheckWindow(from, to *governance.Timestamp, maximum time.Duration) []Problem {
	if problems := CheckOrder("from", from, "to", to); problems != nil || from == nil || to == nil {
		return problems
	}
	if to.Time().Sub(from.Time()) <= maximum {
		return nil
	}
	return []Problem{{
		Parameter: "to", Given: to.String(), Message: fmt.Sprintf("is more than %d days after from", int(maximum/(24*time.Hour))),
		Allowed: "a time up to " + governance.TimestampOf(from.Time().Add(maximum)).String(),
	}}
}

// Choice is one of several parameters of which a request must give exactly one.
type Choice struct {
	// Name is the name of the parameter, and Given its value; empty for none.
	Name, Given string
}

// CheckOneOf rejects requests that give none or more than one of the parameters.
func CheckOneOf(choices ...Choice) []Problem {
	var names, given []string
	for _, one := range choices {
		names = append(names, one.Name)
		if one.Given != "" {
			given = append(given, one.Name)
		}
	}
	if len(given) == 1 {
		return nil
	}
	return []Problem{{
		Parameter: strings.Join(names, ", "), Given: strings.Join(given, ", "),
		Message: "need exactly one among them", Allowed: "one of " + strings.Join(names, ", "),
	}}
}
