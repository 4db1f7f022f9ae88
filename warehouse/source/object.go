package source

import (
	"iter"
	"slices"
)

// maxKeptMembers is how many fields a line may have before the room for them is
// given back after it.
const maxKeptMembers = 1 << 12

// kind is a kind of JSON value, in words that fit into a reason.
type kind string

const (
	kindMissing kind = "missing"
	kindNull    kind = "null"
	kindText    kind = "a text"
	kindNumber  kind = "a number"
	kindBool    kind = "a boolean"
	kindList    kind = "a list"
	kindObject  kind = "an object"
)

func kindOf(json []byte) kind {
	if json == nil {
		return kindMissing
	}
	switch json[0] {
	case 'n':
		return kindNull
	case '"':
		return kindText
	case 't', 'f':
		return kindBool
	case '[':
		return kindList
	case '{':
		return kindObject
	}
	return kindNumber
}

// line is one line on its way to a record. The first thing found wrong with it
// becomes the reason of its refusal; so a reader of a record asks for its fields
// one after the other and looks at the reason once, at the end.
type line struct {
	members []member
	reason  string
}

// open starts a new line, whose text has to be a JSON object.
func (l *line) open(json []byte) object {
	if cap(l.members) > maxKeptMembers {
		l.members = nil
	}
	l.members, l.reason = l.members[:0], ""
	return l.object("", json)
}

func (l *line) object(path string, json []byte) object {
	start := len(l.members)
	l.members = appendMembers(l.members, json)
	return object{line: l, path: path, members: l.members[start:]}
}

// object is a JSON object; the zero object has no fields.
type object struct {
	line    *line
	path    string
	members []member
}

// has says whether the object has a field, be it null.
func (o object) has(name string) bool {
	return o.get(name).json != nil
}

// hasAny says whether the object has one of the fields.
func (o object) hasAny(names ...string) bool {
	return slices.ContainsFunc(names, o.has)
}

// get returns a field; of several with one name the last, as JavaScript does.
func (o object) get(name string) value {
	found := value{line: o.line, owner: o.path, name: name, index: -1}
	for _, field := range slices.Backward(o.members) {
		if string(field.name) == name {
			found.json = field.json
			break
		}
	}
	return found
}

// fields yields the fields of the object in their order, repeats included.
func (o object) fields() iter.Seq[value] {
	return func(yield func(value) bool) {
		for _, field := range o.members {
			if !yield(value{line: o.line, owner: o.path, name: string(field.name), index: -1, json: field.json}) {
				return
			}
		}
	}
}
