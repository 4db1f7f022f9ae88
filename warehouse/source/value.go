package source

import (
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/shopspring/decimal"

	"pnyx/governance"
)

// maxIdentifier bounds the bytes of an identifier. The longest in use are below
// 100; identifiers become parts of sorting keys and of addresses.
const maxIdentifier = 1024

// value is the value of a field or, with an index, one element of a list there.
// The accessors return the zero value for what is missing or null, unless they
// say otherwise, and refuse the line for what is of another kind.
type value struct {
	line  *line
	owner string
	name  string
	index int
	json  []byte
}

func (v value) path() string {
	path := v.name
	if v.owner != "" {
		path = v.owner + "." + v.name
	}
	if v.index >= 0 {
		path += "[" + strconv.Itoa(v.index) + "]"
	}
	return path
}

// refuse refuses the line because of this value.
func (v value) refuse(format string, args ...any) {
	if v.line.reason == "" {
		v.line.reason = v.path() + " " + fmt.Sprintf(format, args...)
	}
}

// refuseFor refuses the line because this value is not what is wanted.
func (v value) refuseFor(wanted string) {
	v.refuse("is %s; want %s", clip(string(v.json), maxShownValue), wanted)
}

func (v value) absent() bool {
	found := kindOf(v.json)
	return found == kindMissing || found == kindNull
}

// is says whether the value is there; another kind of value is refused.
func (v value) is(wanted kind) bool {
	found := kindOf(v.json)
	if found != wanted && !v.absent() {
		v.refuse("is %s; want %s", found, wanted)
	}
	return found == wanted
}

// must refuses the line unless the value is there.
func (v value) must(wanted kind) bool {
	if v.absent() {
		v.refuse("is %s; want %s", kindOf(v.json), wanted)
	}
	return v.is(wanted)
}

// object returns a nested object, without fields where there is none.
func (v value) object() object {
	if !v.is(kindObject) {
		return object{line: v.line, path: v.path()}
	}
	return v.line.object(v.path(), v.json)
}

// list yields the elements of a list.
func (v value) list() iter.Seq[value] {
	return func(yield func(value) bool) {
		if !v.is(kindList) {
			return
		}
		for i, element := range elements(v.json) {
			if !yield(value{line: v.line, owner: v.owner, name: v.name, index: i, json: element}) {
				return
			}
		}
	}
}

// objects yields the elements of a list of objects, none of which may be null.
func (v value) objects() iter.Seq[object] {
	return func(yield func(object) bool) {
		for element := range v.list() {
			if !element.must(kindObject) || !yield(element.object()) {
				return
			}
		}
	}
}

// text returns a text without the space around it.
func (v value) text() string {
	return strings.TrimSpace(v.verbatim())
}

// prose returns a text of several lines, whose ends become plain line feeds;
// nothing but space is nothing.
func (v value) prose() string {
	prose := strings.ReplaceAll(v.verbatim(), "\r\n", "\n")
	if strings.TrimSpace(prose) == "" {
		return ""
	}
	return prose
}

// verbatim returns a text as it is.
func (v value) verbatim() string {
	if !v.is(kindText) {
		return ""
	}
	return string(unescape(v.json))
}

// texts returns a list of texts as they are; an empty list is nil.
func (v value) texts() []string {
	var texts []string
	for element := range v.list() {
		if element.must(kindText) {
			texts = append(texts, element.verbatim())
		}
	}
	return texts
}

// identifier returns a text that has to be there and to serve as a key.
func (v value) identifier() string {
	if !v.must(kindText) {
		return ""
	}
	id := v.verbatim()
	switch {
	case strings.TrimSpace(id) == "":
		v.refuse("is empty; want an identifier")
	case len(id) > maxIdentifier:
		v.refuse("has %d bytes; want an identifier of at most %d", len(id), maxIdentifier)
	case strings.ContainsFunc(id, unicode.IsControl):
		v.refuseFor("an identifier without control characters")
	}
	return id
}

// digits returns a number as it is written, be it as a number or in a text.
func (v value) digits() string {
	if kindOf(v.json) == kindText {
		return v.text()
	}
	if !v.is(kindNumber) {
		return ""
	}
	return string(v.json)
}

// count returns a whole number from 0.
func (v value) count() *uint64 {
	if !v.is(kindNumber) {
		return nil
	}
	n, err := strconv.ParseUint(string(v.json), 10, 64)
	if err != nil {
		v.refuseFor("a whole number from 0")
		return nil
	}
	return &n
}

// countOrZero returns a whole number from 0, and 0 where there is none.
func (v value) countOrZero() uint64 {
	if n := v.count(); n != nil {
		return *n
	}
	return 0
}

// percentage returns a whole number from 0 to 100, and 0 where there is none.
func (v value) percentage() uint8 {
	n := v.countOrZero()
	if n > 100 {
		v.refuseFor("a whole number from 0 to 100")
		return 0
	}
	return uint8(n)
}

// flag returns a boolean, or what is assumed where there is none.
func (v value) flag(assumed bool) bool {
	if !v.is(kindBool) {
		return assumed
	}
	return v.json[0] == 't'
}

// power returns a number with the range and the decimal places of voting power,
// nil where there is none, and whether decimal places had to be rounded away.
func (v value) power() (power *decimal.Decimal, rounded bool) {
	if !v.is(kindNumber) {
		return nil, false
	}
	read, rounded, err := governance.ParsePower(string(v.json))
	if err != nil {
		v.refuse("is refused: %v; want a number from 0", err)
		return nil, false
	}
	return &read, rounded
}

// units returns an amount in a token's smallest unit as voting power, nil where
// there is none. Upstream writes such amounts as texts.
func (v value) units() *decimal.Decimal {
	if v.absent() {
		return nil
	}
	read, err := governance.ParseUnits(v.digits())
	if err != nil {
		v.refuse("is refused: %v; want a whole number of smallest units from 0", err)
		return nil
	}
	return &read
}

// oneOf returns a text that has to be one of those allowed.
func oneOf[T ~string](v value, allowed ...T) T {
	if !v.must(kindText) {
		return ""
	}
	found := T(v.text())
	if !slices.Contains(allowed, found) {
		words := make([]string, len(allowed))
		for i, word := range allowed {
			words[i] = string(word)
		}
		v.refuseFor("one of " + strings.Join(words, ", "))
	}
	return found
}
