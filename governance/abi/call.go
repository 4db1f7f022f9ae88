// Package abi decodes the calls that proposals make: which function, with which arguments, and
// which calls are inside. functions.txt is its table. Decoding is strict: a call is decoded if
// encoding the arguments again gives the same bytes, and not decoded otherwise. It imports
// nothing of ours, and knows neither tokens nor proposals.
package abi

import (
	"encoding/hex"
	"fmt"
	"slices"
)

// Operation says in whose name code runs.
type Operation string

// The operations. DelegateCall runs the target's code in the name of the caller. Undetermined is one of
// the two: contracts differ in what the function does.
const (
	PlainCall    Operation = "call"
	DelegateCall Operation = "delegatecall"
	Undetermined Operation = "undetermined"
)

const (
	// maxDepth bounds calls in calls, and maxCalls all calls inside one.
	maxDepth = 5
	maxCalls = 2000
)

// Call is a call as it is stated.
type Call struct {
	// Chain is "eip155:<number>"; empty where unknown.
	Chain string
	// Target is the called address in lower case.
	Target string
	// Value is the native amount in wei, in decimal.
	Value string
	// Signature is the function's signature if the contract states it. Data then has no selector.
	Signature string
	Data      []byte
	// Operation is empty for a plain call.
	Operation Operation
	// message is true for data that another chain receives, which may have no selector.
	message bool
}

// Decoded is a call and what it means.
type Decoded struct {
	Call
	// Kind is Other for what is not decoded.
	Kind Kind
	// Function is the canonical signature; empty for a plain payment and what is not decoded.
	Function  string
	Arguments []Argument
	// Alternatives are other known functions with the same selector that fit as well.
	Alternatives []string
	Calls        []Decoded
	// Omitted is the number of calls inside that are beyond what one call may have.
	Omitted int
	// Undecoded says why the call, or what is inside, is not decoded; empty if it is.
	Undecoded string
	// moves is the token that the target is known to move.
	moves string
}

// Decode returns what a call means by the table alone.
func Decode(call Call) Decoded { return Interfaces(nil).Decode(call) }

func (of Interfaces) decode(call Call, depth int, budget *int) Decoded {
	if call.Operation == "" {
		call.Operation = PlainCall
	}
	d := Decoded{Call: call, Kind: Other}
	if len(call.Data) == 0 && call.Signature == "" {
		switch {
		case call.Target == "":
			d.Undecoded = "the line of an import that states the action was rejected"
		case call.Value != "0":
			d.Kind = Transfer
		}
		return d
	}
	fit, arguments, reason := known().candidates(call)
	if len(fit) == 0 {
		fit, arguments = of.candidates(call)
	}
	if len(fit) == 0 {
		d.Undecoded = reason
		return d
	}
	f := fit[0]
	d.Kind, d.Function, d.Arguments, d.moves = f.kind, f.signature, arguments, f.token
	for _, other := range fit[1:] {
		d.Alternatives = append(d.Alternatives, other.signature)
	}
	calls, ok := f.inner.calls(call, arguments)
	if !ok {
		d.Undecoded = "the calls inside are not encoded as " + f.signature + " declares"
	}
	if len(calls) > 0 && depth == maxDepth {
		d.Omitted, d.Undecoded = len(calls), fmt.Sprintf("calls inside more than %d calls are not decoded", maxDepth)
		return d
	}
	for i, inside := range calls {
		if *budget == 0 {
			d.Omitted, d.Undecoded = len(calls)-i, fmt.Sprintf("only the first %d calls inside are decoded", maxCalls)
			break
		}
		*budget--
		d.Calls = append(d.Calls, of.decode(inside, depth+1, budget))
	}
	return d
}

// candidates returns the functions that fit a call, and the arguments of the first; or why none does.
func (t *table) candidates(call Call) (fit []*function, arguments []Argument, reason string) {
	data, functions := call.Data, []*function(nil)
	switch {
	case call.Signature != "":
		f, err := t.stated(call)
		if err != nil {
			return nil, nil, "the stated signature " + err.Error()
		}
		// The selector of the text decides what runs, and not what the text means: spaces and names of
		// parameters give another selector, and a name may be chosen to have that of a known function.
		functions = slices.Clone(t.functions[SelectorOf(call.Signature)])
		if at := slices.Index(functions, f); at >= 0 {
			functions[0], functions[at] = f, functions[0]
		} else if f.signature == call.Signature {
			functions = append(functions, f)
		}
		reason = "no known function has the selector of the stated signature: it is not canonical"
	case len(data) >= len(Selector{}):
		functions, data = t.functions[Selector(data)], data[len(Selector{}):]
		if reason = "bytes are not encoded as the function declares"; len(functions) == 0 {
			reason = "no known function has selector 0x" + hex.EncodeToString(call.Data[:len(Selector{})])
		}
	default:
		reason = "data is shorter than a selector"
	}
	for _, f := range functions {
		isKnown := slices.ContainsFunc(fit, func(other *function) bool { return other.signature == f.signature })
		if isKnown || !f.appliesTo(call) {
			continue
		}
		decoded, err := decodeAll(f.inputs, data)
		if err != nil {
			reason = err.Error() + ": " + f.signature
			continue
		}
		if fit = append(fit, f); len(fit) == 1 {
			arguments = decoded
		}
	}
	for _, f := range t.layouts {
		if len(fit) > 0 || call.Signature != "" || !f.appliesTo(call) || len(f.targets) == 0 && !call.message {
			continue
		}
		if decoded, err := decodeAll(f.inputs, call.Data); err == nil {
			fit, arguments = []*function{f}, decoded
		}
	}
	return fit, arguments, reason
}

// DecodeValues reads values without a selector, such as the data of a log, by their types in parentheses.
func DecodeValues(types string, data []byte) ([]Argument, error) {
	_, inputs, _, err := parseSignature(types)
	if err != nil {
		return nil, err
	}
	return decodeAll(inputs, data)
}
