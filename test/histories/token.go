package histories

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/anishathalye/porcupine"
)

// secretAt is a secret of a token, as one node sees it.
type secretAt struct {
	token  string
	secret int
	node   string
}

// validity is an operation on the register that says whether a secret is valid.
type validity struct {
	// writes says that valid becomes the value, and otherwise it was read.
	writes, valid bool
}

// checkTokens checks that each node sees each secret as a register: valid from the return of the command that made
// it, and never again once refused after the command that ended it was called. When a node learns of the end is
// not bounded.
func checkTokens(h History, _ Setting) (problems []string) {
	registers := map[secretAt][]porcupine.Operation{}
	for _, use := range h.of(Request) {
		at := secretAt{use.Token, use.Secret, use.Node}
		accepted := use.Status > 0 && use.Status < 500 && use.Status != 401
		if use.Token == "" || use.Node == "" || !accepted && use.Status != 401 ||
			len(h.during(use.Call, use.Return, func(f *Operation) bool { return f.Rewinds })) > 0 {
			continue
		}
		registers[at] = append(registers[at], porcupine.Operation{
			ClientId: use.Client, Input: validity{valid: accepted}, Call: int64(use.Call), Return: int64(use.Return),
		})
	}
	model := porcupine.Model{
		Init: func() any { return false },
		Step: func(state, input, _ any) (bool, any) {
			o, _ := input.(validity)
			return o.writes || o.valid == state, o.valid
		},
	}
	sorted := slices.SortedFunc(maps.Keys(registers), func(a, b secretAt) int {
		return strings.Compare(fmt.Sprint(a), fmt.Sprint(b))
	})
	for _, at := range sorted {
		register := append(registers[at], h.writes(at)...)
		if porcupine.CheckOperationsTimeout(model, register, checkTimeout) == porcupine.Illegal {
			problems = append(problems, fmt.Sprintf("secret %d of token %s at %s: refused while it was valid, or accepted after it was refused",
				at.secret, at.token, at.node))
		}
	}
	return problems
}

// writes returns the commands that began and ended a secret.
func (h History) writes(at secretAt) (writes []porcupine.Operation) {
	write := func(o *Operation, valid bool, until int64) {
		writes = append(writes, porcupine.Operation{
			ClientId: o.Client, Input: validity{writes: true, valid: valid}, Call: int64(o.Call), Return: until,
		})
	}
	for i := range h {
		o := &h[i]
		if o.Token != at.token {
			continue
		}
		begins := o.Kind == Issue && at.secret == 0 || o.Kind == Rotate && o.Secret == at.secret-1
		ends := o.Kind == Revoke || o.Kind == Rotate && o.Secret == at.secret
		switch {
		case begins && o.Status == 200 && len(h.during(o.Call, o.Return, func(f *Operation) bool { return f.Redis })) == 0:
			write(o, true, int64(o.Return))
		case begins: // without Redis, the worker publishes it later
			write(o, true, math.MaxInt64)
		case ends:
			write(o, false, math.MaxInt64)
		}
	}
	return writes
}
