package abi

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math/big"
	"slices"
	"strings"
)

// inner says which calls the arguments of a function are; see functions.txt.
type inner struct {
	form string
	// list is the path of the array of tuples in "each", or of the tuple that a call is in; empty
	// for none. target, value, data, signature and fee are the places of arguments, or of fields
	// of the tuple; -1 for none.
	list                                []int
	target, value, data, signature, fee int
	// carries is true for a call that gets the money of the outer call, less the fee.
	carries bool
	// crosses is true for a message to another chain. numbering and chain say where its chain
	// is stated; chain is the path of an argument, empty for the chain behind the target.
	crosses   bool
	numbering string
	chain     []int
}

// parseInner reads "form(parameters)@chain".
func parseInner(text string, inputs []parameter) (inner, error) {
	in := inner{target: -1, value: -1, data: -1, signature: -1, fee: -1}
	if text == "" {
		return in, nil
	}
	call, chain, crosses := strings.Cut(text, "@")
	form, list, ok := strings.Cut(strings.TrimSuffix(call, ")"), "(")
	if !ok {
		return in, fmt.Errorf("%q is no form of calls", text)
	}
	in.form, in.crosses = form, crosses
	var err error
	if numbering, name, found := strings.Cut(chain, ":"); found {
		in.numbering, chain = numbering, name
	}
	in.chain, _ = pathOf(inputs, chain, &err)
	fields := inputs
	if tuples, rest, found := strings.Cut(list, ";"); found {
		var of *valueType
		if in.list, of = pathOf(inputs, tuples, &err); err != nil {
			return in, err
		}
		if fields, list = of.fields, rest; of.form == formArray {
			fields = of.element.fields
		}
	}
	names := append(strings.Split(list, ","), "", "", "")
	switch form {
	case "multisend", "self", "script", "payload":
		in.data = place(fields, names[0], &err)
	case "delegate", "either":
		in.target, in.data = place(fields, names[0], &err), place(fields, names[1], &err)
	case "call", "calls", "each":
		value, fee, _ := strings.Cut(names[1], "-")
		if in.carries = value == "msg.value"; in.carries {
			value = ""
		}
		in.target, in.value, in.fee = place(fields, names[0], &err), place(fields, value, &err), place(fields, fee, &err)
		in.data, in.signature = place(fields, names[2], &err), place(fields, names[3], &err)
	default:
		err = fmt.Errorf("%q is no form of calls", form)
	}
	return in, err
}

// place returns the position of a parameter with a name; -1 for no name.
func place(list []parameter, name string, err *error) int {
	if name == "" {
		return -1
	}
	at := slices.IndexFunc(list, func(p parameter) bool { return p.name == name })
	if at < 0 {
		*err = fmt.Errorf("no parameter is named %q", name)
	}
	return at
}

// pathOf returns the positions of a parameter and of the tuples around it, and its type. Points separate the names.
func pathOf(list []parameter, names string, err *error) (path []int, of *valueType) {
	for name := range strings.SplitSeq(names, ".") {
		at := place(list, name, err)
		if at < 0 {
			return nil, nil
		}
		path, of = append(path, at), list[at].of
		list = of.fields
	}
	return path, of
}

func argumentAt(arguments []Argument, path []int) (a Argument) {
	for _, at := range path {
		a = arguments[at]
		arguments = a.Items
	}
	return a
}

// calls returns the calls inside a decoded call; ok is false if they are not coded as the function declares.
func (in *inner) calls(outer Call, arguments []Argument) (calls []Call, ok bool) {
	chain := outer.Chain
	if in.crosses {
		chain = in.chainOf(outer, arguments)
	}
	parts := arguments
	if len(in.list) > 0 {
		parts = argumentAt(arguments, in.list).Items
	}
	switch in.form {
	case "":
		return nil, true
	case "payload":
		// Whoever reads the message makes the calls, so that they are the calls of this one.
		fit, decoded, _ := known().candidates(Call{Data: arguments[in.data].content, message: true})
		if len(fit) == 0 || fit[0].signature[0] != '(' {
			return nil, false
		}
		return fit[0].inner.calls(Call{Chain: chain}, decoded)
	case "multisend":
		calls, ok = unpack(arguments[in.data].content)
	case "script":
		calls, ok = unscript(arguments[in.data].content)
	case "self":
		calls, ok = in.own(outer, arguments), true
	case "each":
		ok = true
		for _, tuple := range parts {
			calls = append(calls, in.callOf(outer, tuple.Items))
		}
	case "calls":
		calls, ok = in.parallel(outer, arguments)
	default:
		call := in.callOf(outer, parts)
		operation, inOwnName := map[string]Operation{"delegate": DelegateCall, "either": Undetermined}[in.form]
		if ok = true; inOwnName {
			call.Operation = operation
		}
		// No code runs at the zero address, and the data of a creation is no call.
		runs := len(call.Data) > 0 || strings.Trim(call.Target, "0x") != ""
		if creates, is := argument(parts, "isCreation"); (!is || creates.Value == "false") && (!inOwnName || runs) {
			calls = []Call{call}
		}
	}
	for i := range calls {
		calls[i].Chain, calls[i].message = chain, in.crosses
	}
	return calls, ok
}

func (in *inner) own(outer Call, arguments []Argument) (calls []Call) {
	list := arguments[in.data].Items
	if arguments[in.data].Type == "bytes" {
		list = arguments[in.data : in.data+1]
	}
	for _, data := range list {
		if len(data.content) > 0 {
			calls = append(calls, Call{Target: outer.Target, Value: "0", Data: data.content, Operation: outer.Operation})
		}
	}
	return calls
}

// saysHow reports whether an argument with a name says if code runs in the caller's name.
func saysHow(name string) bool {
	return name == "operation" || strings.EqualFold(name, "withDelegateCall")
}

// parallel returns calls whose parts are in arrays of one length.
func (in *inner) parallel(outer Call, arguments []Argument) (calls []Call, ok bool) {
	columns := make([]Argument, len(arguments))
	for i := range arguments[in.target].Items {
		for at := range arguments {
			name := strings.TrimSuffix(arguments[at].Name, "s")
			if !saysHow(name) && !slices.Contains([]int{in.target, in.value, in.data, in.signature}, at) {
				continue
			}
			if len(arguments[at].Items) != len(arguments[in.target].Items) {
				return nil, false
			}
			columns[at] = arguments[at].Items[i]
			columns[at].Name = name
		}
		calls = append(calls, in.callOf(outer, columns))
	}
	return calls, true
}

func (in *inner) callOf(outer Call, fields []Argument) Call {
	call := Call{Target: strings.ToLower(short(fields[in.target].Value)), Value: "0", Data: fields[in.data].content}
	if in.value >= 0 {
		call.Value = fields[in.value].Value
	}
	if in.carries {
		call.Value = outer.Value
	}
	if in.fee >= 0 {
		call.Value = remaining(call.Value, fields[in.fee].Value)
	}
	if in.signature >= 0 {
		call.Signature = fields[in.signature].Value
	}
	for _, field := range fields {
		if saysHow(field.Name) && field.Value != "0" && field.Value != "false" {
			call.Operation = DelegateCall
		}
	}
	return call
}

// chainOf returns the chain on which a message arrives; empty where unknown.
func (in *inner) chainOf(outer Call, arguments []Argument) string {
	switch {
	case in.numbering == "chain":
		return "eip155:" + argumentAt(arguments, in.chain).Value
	case in.numbering != "":
		return known().bridges[[2]string{in.numbering, argumentAt(arguments, in.chain).Value}]
	case len(in.chain) > 0:
		return known().bridges[[2]string{outer.Chain, argumentAt(arguments, in.chain).Value}]
	}
	return known().bridges[[2]string{outer.Chain, outer.Target}]
}

// unpack reads the packed calls of a multisend: operation, target, value, length, data.
func unpack(data []byte) (calls []Call, ok bool) {
	const head = 1 + 20 + wordBytes + wordBytes
	for len(data) > 0 {
		if len(data) < head || data[0] > 1 {
			return nil, false
		}
		size, ok := length(data[head-wordBytes:], len(data)-head)
		if !ok {
			return nil, false
		}
		call := Call{Target: "0x" + hex.EncodeToString(data[1:21]), Value: new(big.Int).SetBytes(data[21:53]).String(), Data: data[head : head+size]}
		if data[0] == 1 {
			call.Operation = DelegateCall
		}
		calls, data = append(calls, call), data[head+size:]
	}
	return calls, true
}

// unscript reads the calls of an Aragon script: its version, then target, length and data of each.
func unscript(data []byte) (calls []Call, ok bool) {
	const version, head = 4, 20 + 4
	if len(data) < version || binary.BigEndian.Uint32(data) != 1 {
		return nil, false
	}
	for data = data[version:]; len(data) > 0; {
		if len(data) < head {
			return nil, false
		}
		size := int(binary.BigEndian.Uint32(data[20:]))
		if size > len(data)-head {
			return nil, false
		}
		calls = append(calls, Call{Target: "0x" + hex.EncodeToString(data[:20]), Value: "0", Data: data[head : head+size]})
		data = data[head+size:]
	}
	return calls, true
}
