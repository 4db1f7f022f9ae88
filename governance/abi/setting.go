package abi

import (
	"slices"
	"strings"
)

// Getters returns the functions that may return the one value, of type kind, that a function sets, the likeliest
// first; nil where none is known by its name.
func (d *Decoded) Getters() (signatures []string, kind string) {
	if len(d.Arguments) != 1 || d.Arguments[0].Items != nil || len(d.Calls) > 0 || !slices.Contains([]Kind{GovernanceSetting, Timelock, Parameter}, d.Kind) {
		return nil, ""
	}
	name, _, _ := strings.Cut(strings.TrimLeft(d.Function, "_"), "(")
	for _, verb := range []string{"set", "update", "change", "unsafelyChange"} {
		what, is := strings.CutPrefix(name, verb)
		if !is || what == "" || what[0] < 'A' || what[0] > 'Z' {
			continue
		}
		signatures = []string{strings.ToLower(what[:1]) + what[1:] + "()", "get" + what + "()"}
		if what == "Delay" {
			signatures = append(signatures, "getMinDelay()") // of OpenZeppelin
		}
		return signatures, d.Arguments[0].Type
	}
	return nil, ""
}
