package api

import (
	"fmt"
	"strings"
	"time"

	"pnyx/governance"
)

// timeRange is a range of time that two parameters give. An end that is missing or invalid
// is nil.
type timeRange struct {
	// fromName and toName are the names of the parameters.
	fromName, toName string
	from, to         *governance.Timestamp
}

// checkOrder rejects a range that ends before it begins. An empty range is allowed.
func (r timeRange) checkOrder() []Problem {
	if r.from == nil || r.to == nil || *r.from <= *r.to {
		return nil
	}
	return []Problem{{
		Parameter: r.fromName, Given: r.from.String(), Message: "is after " + r.toName,
		Allowed: "a time up to " + r.to.String(),
	}}
}

// checkWindow rejects a range that is reversed or longer than a maximum.
func (r timeRange) checkWindow(maximum time.Duration) []Problem {
	if problems := r.checkOrder(); problems != nil || r.from == nil || r.to == nil {
		return problems
	}
	if r.to.Time().Sub(r.from.Time()) <= maximum {
		return nil
	}
	return []Problem{{
		Parameter: r.toName, Given: r.to.String(),
		Message: fmt.Sprintf("is more than %d days after %s", int(maximum/(24*time.Hour)), r.fromName),
		Allowed: "a time up to " + governance.TimestampOf(r.from.Time().Add(maximum)).String(),
	}}
}

// choice is one of several parameters of which a request must give exactly one.
type choice struct{ name, given string }

// checkOneOf rejects requests that give none or more than one of the parameters.
func checkOneOf(choices ...choice) []Problem {
	var names, given []string
	for _, one := range choices {
		names = append(names, one.name)
		if one.given != "" {
			given = append(given, one.name)
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
