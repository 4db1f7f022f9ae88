package histories

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"
)

// codeQuota is the error code of a month that is used up.
const codeQuota = "QUOTA_EXCEEDED"

// checkTimeout bounds the search for a linearization. A search that takes longer decides nothing.
const checkTimeout = 30 * time.Second

// checkQuotas checks the month of each token. Where no fault kept a node from Redis, its history is a counter's.
// Otherwise the bound of DESIGN.md holds: each node may have counted by itself meanwhile, no faster than its
// bucket allows; and once Redis is back, all is counted but what was answered meanwhile.
func checkQuotas(h History, s Setting) (problems []string) {
	for _, issued := range h.of(Issue) {
		if issued.Limit == 0 || issued.Token == "" { // the command may have failed
			continue
		}
		var uses []*Operation
		for _, request := range h.of(Request) {
			if request.Token == issued.Token {
				uses = append(uses, request)
			}
		}
		if len(uses) == 0 {
			continue
		}
		from, to := span(uses)
		faults := h.during(from, to, func(f *Operation) bool { return f.Redis })
		if len(faults) == 0 {
			problems = append(problems, checkCounter(issued, uses)...)
			continue
		}
		problems = append(problems, checkBound(issued, uses, faults, s)...)
	}
	return problems
}

// span is the time from the first call to the last return.
func span(operations []*Operation) (from, to time.Duration) {
	from = operations[0].Call
	for _, o := range operations {
		from, to = min(from, o.Call), max(to, o.Return)
	}
	return from, to
}

// count is the state of a month: the answers it paid for, and reservations that are returned later.
type count struct{ used, held int }

// step is what a request does to the count of its month.
type step struct {
	name  string
	limit int
}

// The steps of requests. One without data holds an answer until it returns it, a refused one beyond the limit.
const (
	grant   = "grant"
	refuse  = "refuse"
	hold    = "hold"
	release = "release"
)

// take returns the count after a step, and whether there can be such a step.
func (s step) take(c count) (bool, count) {
	switch s.name {
	case grant:
		return c.used+c.held < s.limit, count{c.used + 1, c.held}
	case refuse:
		return c.used+c.held >= s.limit, count{c.used, c.held + 1}
	case hold:
		return true, count{c.used, c.held + 1}
	default:
		return c.held > 0, count{c.used, c.held - 1}
	}
}

// steps returns the steps of a request of a token with a limit, as operations.
func (o *Operation) steps(limit int) []porcupine.Operation {
	at := func(name string, end int64) porcupine.Operation {
		return porcupine.Operation{ClientId: o.Client, Input: step{name, limit}, Call: int64(o.Call), Return: end}
	}
	switch end := int64(o.Return); {
	case o.answered():
		return []porcupine.Operation{at(grant, end)}
	case o.Code == codeQuota:
		return []porcupine.Operation{at(refuse, end), at(release, end)}
	case o.Status == 0:
		return []porcupine.Operation{at(hold, math.MaxInt64)} // it may count, and it may do so later
	case o.Status == 401:
		return nil // decided before the month
	default:
		return []porcupine.Operation{at(hold, end), at(release, end)}
	}
}

// checkCounter checks that the requests of a token behave as a counter with a limit.
func checkCounter(issued *Operation, uses []*Operation) []string {
	model := porcupine.Model{
		Init: func() any { return count{} },
		Step: func(state, input, _ any) (bool, any) {
			return input.(step).take(state.(count)) //nolint:errcheck,forcetypeassert // of this model
		},
	}
	var operations []porcupine.Operation
	for _, use := range uses {
		operations = append(operations, use.steps(issued.Limit)...)
	}
	if porcupine.CheckOperationsTimeout(model, operations, checkTimeout) == porcupine.Illegal {
		granted, refused := counted(uses)
		return []string{fmt.Sprintf("token %s of %d answers a month: %d requests, %d answered, %d refused: no counter does so",
			issued.Token, issued.Limit, len(uses), granted, refused)}
	}
	return nil
}

// counted returns how many requests were answered, and refused for the month.
func counted(uses []*Operation) (granted, refused int) {
	for _, use := range uses {
		if use.answered() {
			granted++
		}
		if use.Code == codeQuota {
			refused++
		}
	}
	return granted, refused
}

// checkBound checks the month of a token beside faults of Redis.
func checkBound(issued *Operation, uses, faults []*Operation, s Setting) (problems []string) {
	extra := 0
	for _, fault := range faults {
		// A bucket that was full in Redis, one in each node, and what refills them.
		lasted := (fault.Return - fault.Call).Seconds()
		extra += s.Burst + s.Nodes*(s.Burst+int(math.Ceil(lasted*s.PerSecond)))
	}
	granted, _ := counted(uses)
	if granted > issued.Limit+extra {
		problems = append(problems, fmt.Sprintf("token %s of %d answers a month: %d answered, and %d faults of Redis allow %d more",
			issued.Token, issued.Limit, granted, len(faults), extra))
	}
	during := func(o *Operation) bool {
		return slices.ContainsFunc(faults, func(f *Operation) bool { return o.overlaps(f.Call, f.Return) })
	}
	for _, use := range uses {
		if during(use) {
			continue
		}
		// certain counts what is in the month for sure, possible what may be.
		certain, possible := 0, 0
		for _, other := range uses {
			switch {
			case other == use || other.Call > use.Return || other.Status == 401:
			case other.answered() && other.Return < use.Call && !during(other):
				certain++
				possible++
			case during(other):
				possible += 2 // a Cluster whose primary dies may be sent a command twice
			case other.answered() || other.Status == 0 || other.Return >= use.Call:
				possible++
			}
		}
		if use.answered() && certain >= issued.Limit {
			problems = append(problems, fmt.Sprintf("token %s: %s: answered after %d of %d", issued.Token, use, certain, issued.Limit))
		}
		if use.Code == codeQuota && possible < issued.Limit {
			problems = append(problems, fmt.Sprintf("token %s: %s: refused after at most %d of %d", issued.Token, use, possible, issued.Limit))
		}
	}
	return problems
}
