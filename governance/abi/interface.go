package abi

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Interfaces are functions of contracts that the table does not have.
type Interfaces map[contractFunction]*function

// contractFunction is a contract, eip155:<chain>:<address>, and a selector.
type contractFunction struct {
	contract string
	selector Selector
}

// Add adds functions of a contract by their signatures, in which parameters may have names. The error wraps [ErrSignature].
func (of Interfaces) Add(contract string, signatures ...string) error {
	for _, text := range signatures {
		name, inputs, canonical, err := parseSignature(text)
		if err == nil && name == "" {
			err = fmt.Errorf("%w: %.80q", ErrSignature, text)
		}
		if err != nil {
			return err
		}
		of[contractFunction{contract, SelectorOf(canonical)}] = &function{kind: Other, signature: canonical, inputs: inputs}
	}
	return nil
}

// Decode returns what a call means. The functions of the table come first.
func (of Interfaces) Decode(call Call) Decoded {
	call.Target = strings.ToLower(call.Target)
	return of.decode(call, 0, new(maxCalls))
}

// candidates returns the function that a contract has for a call, with its arguments; none where the call is not of it, or the
// table knows what runs: a name may be chosen to have the selector of a known function.
func (of Interfaces) candidates(call Call) ([]*function, []Argument) {
	if call.Signature != "" || len(call.Data) < len(Selector{}) {
		return nil, nil
	}
	selector := Selector(call.Data)
	f := of[contractFunction{call.Chain + ":" + call.Target, selector}]
	if f == nil || slices.ContainsFunc(known().functions[selector], func(other *function) bool { return other.appliesTo(call) }) {
		return nil, nil
	}
	arguments, err := decodeAll(f.inputs, call.Data[len(Selector{}):])
	if err != nil {
		return nil, nil
	}
	return []*function{f}, arguments
}

// jsonParameter is a parameter as compilers state it.
type jsonParameter struct {
	Name, Type string
	Components []jsonParameter
}

// ParseInterface returns the signatures of the functions of an ABI: the list that compilers write, or an object's abi.
func ParseInterface(file []byte) (signatures []string, err error) {
	type entry struct {
		Type, Name string
		Inputs     []jsonParameter
	}
	var artifact struct{ ABI []entry }
	into := any(&artifact.ABI)
	if bytes.HasPrefix(bytes.TrimSpace(file), []byte{'{'}) {
		into = &artifact
	}
	if err = json.Unmarshal(file, into); err != nil {
		return nil, fmt.Errorf("read the ABI: %w", err)
	}
	for _, e := range artifact.ABI {
		if e.Type == "function" {
			signatures = append(signatures, e.Name+tupleOf(e.Inputs))
		}
	}
	if len(signatures) == 0 {
		return nil, errors.New("the ABI has no function")
	}
	return signatures, Interfaces{}.Add("", signatures...)
}

func tupleOf(parameters []jsonParameter) string {
	texts := make([]string, len(parameters))
	for i, p := range parameters {
		if suffix, is := strings.CutPrefix(p.Type, "tuple"); is {
			p.Type = tupleOf(p.Components) + suffix
		}
		texts[i] = strings.TrimSpace(p.Type + " " + p.Name)
	}
	return "(" + strings.Join(texts, ",") + ")"
}
