package source

import (
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strings"
	"unicode/utf8"

	"pnyx/warehouse/record"
)

// jsonType is the type of a JSON value, in words for rejection reasons.
type jsonType string

const (
	typeMissing jsonType = "missing" // the object has no such field
	typeNull    jsonType = "null"
	typeString  jsonType = "a string"
	typeNumber  jsonType = "a number"
	typeBool    jsonType = "a boolean"
	typeArray   jsonType = "an array"
	typeObject  jsonType = "an object"
)

// typeOf returns the type of a JSON value, given its text. The text of a missing value is empty.
func typeOf(text []byte) jsonType {
	if len(text) == 0 {
		return typeMissing
	}
	switch text[0] {
	case 'n':
		return typeNull
	case '"':
		return typeString
	case 't', 'f':
		return typeBool
	case '[':
		return typeArray
	case '{':
		return typeObject
	}
	return typeNumber
}

// line is the state of parsing one line. The first invalid value sets reason; later
// ones leave it unchanged. A read function therefore reads all fields without checking
// for errors, and parse checks reason once at the end.
type line struct {
	// host is the forum's host, for formats whose lines do not state it.
	host    string
	members []member
	// reason is why the line is rejected; empty while it is valid.
	reason string
}

// open starts a new line. ok is false unless its text is a JSON object in UTF-8.
func (l *line) open(text []byte) (in object, ok bool) {
	const maxReusedMembers = 1 << 12 // the maximum number of fields of a line whose memory is reused for the next line
	if cap(l.members) > maxReusedMembers {
		l.members = nil
	}
	l.members, l.reason = l.members[:0], ""
	if typeOf(text) != typeObject || !utf8.Valid(text) || !json.Valid(text) {
		return in, false
	}
	return l.object("", text), true
}

// object splits a JSON object into its fields. path names the object in reasons. One that states a field
// twice is invalid: who reads it elsewhere may read the other one.
func (l *line) object(path string, text []byte) object {
	start := len(l.members)
	l.members = appendMembers(l.members, text)
	in := object{line: l, path: path, members: l.members[start:]}
	if name, twice := repeatedName(in.members); twice && l.reason == "" {
		l.reason = strings.TrimPrefix(fmt.Sprintf("%s has field %q twice", path, record.Clip(name, maxShownValue)), " ")
	}
	return in
}

func repeatedName(members []member) (name string, twice bool) {
	const maxCompared = 32 // the number of fields up to which names are compared one by one
	if len(members) > maxCompared {
		seen := make(map[string]bool, len(members))
		for _, field := range members {
			if seen[string(field.name)] {
				return string(field.name), true
			}
			seen[string(field.name)] = true
		}
		return "", false
	}
	for i, field := range members {
		for _, other := range members[:i] {
			if string(field.name) == string(other.name) {
				return string(field.name), true
			}
		}
	}
	return "", false
}

// object is a JSON object. The zero object has no fields.
type object struct {
	line    *line
	path    string
	members []member
}

// has reports whether the object has a field; its value may be null.
func (o object) has(name string) bool { return o.get(name).json != nil }

func (o object) hasAny(names ...string) bool { return slices.ContainsFunc(names, o.has) }

func (o object) get(name string) value {
	found := value{line: o.line, owner: o.path, name: name, index: -1}
	for _, field := range o.members {
		if string(field.name) == name {
			found.json = field.json
			break
		}
	}
	return found
}

func (o object) fields() iter.Seq[value] {
	return func(yield func(value) bool) {
		for _, field := range o.members {
			found := value{
				line: o.line, owner: o.path, name: string(field.name), index: -1, json: field.json,
			}
			if !yield(found) {
				return
			}
		}
	}
}
