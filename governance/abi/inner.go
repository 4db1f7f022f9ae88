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
	// target, value, data and signature are the places of arguments, or in "each" of fields of a
	// tuple; -1 for none. list is the place of the array of tuples, and within that of the tuple
	// around it.
	within, list, target, value, data, signature int
	// crosses is true for a message to another chain. numbering and chain say where its chain
	// is stated; chain is the place of an argument, or -1 for the chain behind the target.
	crosses   bool
	numbering string
	chain     int
}

// parseInner reads "form(parameters)@chain".
func parseInner(text string, inputs []parameter) (inner, error) {
	in := inner{within: -1, list: -1, target: -1, value: -1, data: -1, signature: -1, chain: -1}
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
	in.chain = place(inputs, chain, &err)
	fields := inputs
	if array, rest, found := strings.Cut(list, ";"); found {
		if around, name, nested := strings.Cut(array, "."); nested {
			if in.within = place(inputs, around, &err); err != nil {
				return in, err
			}
			fields, array = inputs[in.within].of.fields, name
		}
		if in.list = place(fields, array, &err); err != nil {
			return in, err
		}
		fields, list = fields[in.list].of.element.fields, rest
	}
	names := append(strings.Split(list, ","), "", "", "")
	switch form {
	case "multisend", "self", "script":
		in.data = place(fields, names[0], &err)
	case "delegate", "message":
		in.target, in.data = place(fields, names[0], &err), place(fields, names[1], &err)
	case "call", "calls", "each":
		in.target, in.value = place(fields, names[0], &err), place(fields, names[1], &err)
		in.data, in.signature = place(fields, names[2], &err), place(fields, names[3], &err)
	default:
		err = fmt.Errorf("%q is no form of calls", form)
	}
	return in, err
}

// place returns the position of a parameter with a name; -1 for no name.
func place(list []parameter, name string, err *error) int {
	at := slices.IndexFunc(list, func(p parameter) bool { return p.name == name })
	if name != "" && at < 0 {
		*err = fmt.Errorf("no parameter is named %q", name)
	}
	if name == "" {
		return -1
	}
	return at
}

// calls returns the calls inside a decoded call; ok is false if they are not coded as the
// function declares.
func (in *inner) calls(outer Call, arguments []Argument) (calls []Call, ok bool) {
	chain := outer.Chain
	if in.crosses {
		chain = in.chainOf(outer, arguments)
	}
	switch in.form {
	case "":
		return nil, true
	case "multisend":
		calls, ok = unpack(arguments[in.data].content)
	case "script":
		calls, ok = unscript(arguments[in.data].content)
	case "self":
		calls, ok = in.own(outer, arguments), true
	case "each":
		ok = true
		if in.within >= 0 {
			arguments = arguments[in.within].Items
		}
		for _, tuple := range arguments[in.list].Items {
			calls = append(calls, in.callOf(tuple.Items))
		}
	case "calls":
		calls, ok = in.parallel(arguments)
	default:
		call := in.callOf(arguments)
		if ok = true; in.form == "delegate" {
			call.Operation = DelegateCall
		}
		if call.message = in.form == "message" || in.crosses; in.form != "delegate" || len(call.Data) > 0 {
			calls = []Call{call}
		}
	}
	for i := range calls {
		calls[i].Chain = chain
		calls[i].message = calls[i].message || in.crosses
	}
	return calls, ok
}

// own returns the calls of the target to itself.
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

// parallel returns calls whose parts are in arrays of one length.
func (in *inner) parallel(arguments []Argument) (calls []Call, ok bool) {
	columns := make([]Argument, len(arguments))
	for i := range arguments[in.target].Items {
		for _, at := range []int{in.target, in.value, in.data, in.signature} {
			if at < 0 {
				continue
			}
			if len(arguments[at].Items) != len(arguments[in.target].Items) {
				return nil, false
			}
			columns[at] = arguments[at].Items[i]
		}
		calls = append(calls, in.callOf(columns))
	}
	return calls, true
}

// callOf returns the call that arguments or fields of a tuple state.
func (in *inner) callOf(fields []Argument) Call {
	call := Call{Target: short(fields[in.target].Value), Value: "0", Data: fields[in.data].content}
	if in.value >= 0 {
		call.Value = fields[in.value].Value
	}
	if in.signature >= 0 {
		call.Signature = fields[in.signature].Value
	}
	for _, field := range fields {
		if field.Name == "operation" && field.Value == "1" ||
			strings.EqualFold(field.Name, "withDelegatecall") && field.Value == "true" {
			call.Operation = DelegateCall
		}
	}
	return call
}

// chainOf returns the chain on which a message arrives; empty where unknown.
func (in *inner) chainOf(outer Call, arguments []Argument) string {
	switch {
	case in.numbering == "chain":
		return "eip155:" + arguments[in.chain].Value
	case in.numbering != "":
		return known().bridges[[2]string{in.numbering, arguments[in.chain].Value}]
	case in.chain >= 0:
		return known().bridges[[2]string{outer.Chain, arguments[in.chain].Value}]
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

// unscript reads the calls of an Aragon script: its version, then target, length and data of
// each.
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
