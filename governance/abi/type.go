package abi

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// ErrSignature reports a text that is no signature of a function.
var ErrSignature = errors.New("is no signature of a function")

const (
	wordBytes = 32
	// nameCharacters are those that a function's name may have: others may look like them.
	nameCharacters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_$"
	// maxHead bounds the fixed part of arguments, and maxNesting arrays and tuples in each
	// other: contracts may state any signature, and a word of data takes memory for each of them.
	maxHead    = 1 << 16
	maxNesting = 16
)

// form is what the words of a value mean.
type form int

const (
	formUint form = iota
	formInt
	formAddress
	formBool
	formFixedBytes
	formBytes
	formString
	formArray
	formTuple
)

// valueType is a type of the contract ABI.
type valueType struct {
	form form
	// width is the bits of a number, the bytes of fixed bytes, the elements of an array; -1 for any length.
	width   int
	element *valueType
	fields  []parameter
	// dynamic types have their content behind the heads, at an offset.
	dynamic bool
	// head is the bytes of the fixed part.
	head int
	// levels is how many arrays and tuples nest.
	levels int
	name   string
}

// parameter is a named value. The name is empty where a signature has none.
type parameter struct {
	name string
	of   *valueType
}

// parser reads a signature.
type parser struct {
	rest  string
	depth int
}

// parseSignature returns the name, the parameters, named or not, and the canonical form of a signature.
func parseSignature(text string) (name string, inputs []parameter, canonical string, err error) {
	open := strings.IndexByte(text, '(')
	if open < 0 || strings.Trim(text[:open], nameCharacters) != "" {
		return "", nil, "", fmt.Errorf("%w: %.80q", ErrSignature, text)
	}
	p := parser{rest: text[open:]}
	inputs, ok := p.parameters()
	if !ok || p.rest != "" || headOf(inputs) > maxHead {
		return "", nil, "", fmt.Errorf("%w: %.80q", ErrSignature, text)
	}
	return text[:open], inputs, text[:open] + tupleName(inputs), nil
}

// parameters reads a list in parentheses.
func (p *parser) parameters() ([]parameter, bool) {
	if p.depth++; p.depth > maxNesting || !p.take('(') {
		return nil, false
	}
	defer func() { p.depth-- }()
	var list []parameter
	for !p.take(')') {
		if len(list) > 0 && !p.take(',') {
			return nil, false
		}
		of, ok := p.valueType()
		if !ok {
			return nil, false
		}
		list = append(list, parameter{p.word(), of})
	}
	return list, true
}

// take reads one character, and the spaces before it.
func (p *parser) take(char byte) bool {
	p.rest = strings.TrimLeft(p.rest, " ")
	if p.rest == "" || p.rest[0] != char {
		return false
	}
	p.rest = p.rest[1:]
	return true
}

// word reads up to the next character that is part of no name.
func (p *parser) word() string {
	p.rest = strings.TrimLeft(p.rest, " ")
	end := strings.IndexAny(p.rest, " ,()[]")
	if end < 0 {
		end = len(p.rest)
	}
	word := p.rest[:end]
	p.rest = p.rest[end:]
	return word
}

// valueType reads a type with its arrays.
func (p *parser) valueType() (*valueType, bool) {
	of, ok := p.plainType()
	for ok && p.take('[') {
		width := -1
		if length := p.word(); length != "" {
			n, err := strconv.ParseUint(length, 10, 16)
			if err != nil || n == 0 || strconv.FormatUint(n, 10) != length {
				return nil, false
			}
			width = int(n)
		}
		if !p.take(']') {
			return nil, false
		}
		of, ok = arrayOf(of, width)
	}
	return of, ok
}

func arrayOf(element *valueType, width int) (*valueType, bool) {
	a := &valueType{form: formArray, width: width, element: element, head: wordBytes, name: element.name + "[]", dynamic: true, levels: element.levels + 1}
	if width >= 0 {
		a.name = element.name + "[" + strconv.Itoa(width) + "]"
		if !element.dynamic {
			a.dynamic, a.head = false, element.head*width
		}
	}
	return a, a.head <= maxHead && a.levels <= maxNesting
}

func (p *parser) plainType() (*valueType, bool) {
	if strings.HasPrefix(strings.TrimLeft(p.rest, " "), "(") {
		fields, ok := p.parameters()
		if !ok || len(fields) == 0 {
			return nil, false
		}
		t := &valueType{form: formTuple, fields: fields, head: headOf(fields), name: tupleName(fields)}
		for _, field := range fields {
			t.dynamic, t.levels = t.dynamic || field.of.dynamic, max(t.levels, field.of.levels+1)
		}
		if t.dynamic {
			t.head = wordBytes
		}
		return t, t.head <= maxHead && t.levels <= maxNesting
	}
	return elementary(p.word())
}

// elementary returns the type with a name.
func elementary(name string) (*valueType, bool) {
	if name == "uint" || name == "int" {
		name += "256"
	}
	kind := strings.TrimRight(name, "0123456789")
	width, err := strconv.Atoi(name[len(kind):])
	isSized := err == nil && width > 0 && name == kind+strconv.Itoa(width)
	isBits := isSized && width <= 256 && width%8 == 0
	t := &valueType{head: wordBytes, name: name, width: width, dynamic: name == "bytes" || name == "string"}
	var is bool
	switch {
	case kind == name:
		t.form, is = map[string]form{"address": formAddress, "bool": formBool, "bytes": formBytes, "string": formString}[name]
	case kind == "bytes" && isSized && width <= wordBytes:
		t.form, is = formFixedBytes, true
	case isBits:
		t.form, is = map[string]form{"uint": formUint, "int": formInt}[kind]
	}
	return t, is
}

// headOf returns the bytes of the fixed part of parameters.
func headOf(list []parameter) int {
	sum := 0
	for _, p := range list {
		sum += p.of.head
	}
	return sum
}

func tupleName(list []parameter) string {
	names := make([]string, len(list))
	for i, p := range list {
		names[i] = p.of.name
	}
	return "(" + strings.Join(names, ",") + ")"
}
