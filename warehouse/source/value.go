package source

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/shopspring/decimal"

	"pnyx/governance"
	"pnyx/warehouse/record"
)

// maxIdentifier is the maximum length of an identifier in bytes, and of one that the API takes in
// parameters. Identifiers in use are shorter than 100; they become parts of sorting keys and of URLs.
const maxIdentifier = 512

// value is the value of a field or an element of an array. Unless they say so, accessors return the zero value if
// it is missing or null, and reject the line if it has another type.
type value struct {
	line *line
	// owner is the path of the object, name the field in it.
	owner string
	name  string
	index int
	// json is the text of the value; empty if it is missing.
	json []byte
}

// path names the value in reasons: "events[0].block.timestamp".
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

// reject rejects the line because of this value, unless it is rejected already.
func (v value) reject(format string, args ...any) {
	if v.line.reason == "" {
		v.line.reason = v.path() + " " + fmt.Sprintf(format, args...)
	}
}

// rejectUnlike rejects the line because this value differs from what is wanted.
func (v value) rejectUnlike(wanted string) {
	v.reject("is %s; want %s", cmp.Or(record.Clip(string(v.json), maxShownValue), string(typeMissing)), wanted)
}

// absent reports whether the value is missing or null.
func (v value) absent() bool {
	found := typeOf(v.json)
	return found == typeMissing || found == typeNull
}

// is reports whether the value has the wanted type. Another type rejects the line.
func (v value) is(wanted jsonType) bool {
	found := typeOf(v.json)
	if found != wanted && !v.absent() {
		v.reject("is %s; want %s", found, wanted)
	}
	return found == wanted
}

// required rejects the line if the value is absent.
func (v value) required(wanted jsonType) value {
	if v.absent() {
		v.reject("is %s; want %s", typeOf(v.json), wanted)
	}
	return v
}

// require reports whether the value has the wanted type. Another type, and no value, rejects the line.
func (v value) require(wanted jsonType) bool { return v.required(wanted).is(wanted) }

// object returns the nested object. An absent object has no fields.
func (v value) object() object {
	if !v.is(typeObject) {
		return object{line: v.line, path: v.path()}
	}
	return v.line.object(v.path(), v.json)
}

func (v value) elements() iter.Seq[value] {
	return func(yield func(value) bool) {
		if !v.is(typeArray) {
			return
		}
		for i, element := range elements(v.json) {
			if !yield(value{line: v.line, owner: v.owner, name: v.name, index: i, json: element}) {
				return
			}
		}
	}
}

// objects yields the elements of an array of objects. It rejects null elements.
func (v value) objects() iter.Seq[object] {
	return func(yield func(object) bool) {
		for element := range v.elements() {
			if !element.require(typeObject) || !yield(element.object()) {
				return
			}
		}
	}
}

// text returns a string without surrounding whitespace.
func (v value) text() string { return strings.TrimSpace(v.rawText()) }

// multiline returns a string with LF line ends; empty if there is only whitespace.
func (v value) multiline() string {
	prose := strings.ReplaceAll(v.rawText(), "\r\n", "\n")
	if strings.TrimSpace(prose) == "" {
		return ""
	}
	return prose
}

func (v value) rawText() string {
	if !v.is(typeString) {
		return ""
	}
	return string(unescape(v.json))
}

// texts returns an array of strings unchanged. An empty array is nil.
func (v value) texts() []string {
	var texts []string
	for element := range v.elements() {
		if element.require(typeString) {
			texts = append(texts, element.rawText())
		}
	}
	return texts
}

// identifier returns a required key: not empty, not long, without control characters.
func (v value) identifier() string {
	if !v.require(typeString) {
		return ""
	}
	id := v.rawText()
	switch {
	case strings.TrimSpace(id) == "":
		v.reject("is empty; want an identifier")
	case len(id) > maxIdentifier:
		v.reject("has %d bytes; want an identifier of at most %d", len(id), maxIdentifier)
	case hasControl(id):
		v.rejectUnlike("an identifier without control characters")
	}
	return id
}

// proposalID is identifier for the proposal that a ballot is on. It is empty if the line is rejected already.
func (v value) proposalID() string {
	id := v.identifier()
	if v.line.reason != "" {
		return "" // of two ids, either may be meant
	}
	return id
}

// hasControl reports whether a text has a control character. Nearly all identifiers are ASCII.
func hasControl(text string) bool {
	for i := range len(text) {
		switch c := text[i]; {
		case c < ' ' || c == 0x7f:
			return true
		case c >= utf8.RuneSelf:
			return strings.ContainsFunc(text[i:], unicode.IsControl)
		}
	}
	return false
}

func (v value) numberText() string {
	if typeOf(v.json) == typeString {
		return v.text()
	}
	if !v.is(typeNumber) {
		return ""
	}
	return string(v.json)
}

// count returns a whole number from 0 in any notation, or nil.
func (v value) count() *uint64 {
	if v.absent() {
		return nil
	}
	n, err := governance.ParseWhole(v.numberText())
	if err != nil {
		v.rejectUnlike("a whole number from 0")
		return nil
	}
	return &n
}

// countOrZero returns a whole number from 0, or 0 if the value is absent.
func (v value) countOrZero() uint64 {
	if n := v.count(); n != nil {
		return *n
	}
	return 0
}

// percentage returns a whole number from 0 to 100, or 0 if the value is absent.
func (v value) percentage() uint8 {
	n := v.countOrZero()
	if n > 100 {
		v.rejectUnlike("a whole number from 0 to 100")
		return 0
	}
	return uint8(n)
}

func (v value) boolOr(fallback bool) bool {
	if !v.is(typeBool) {
		return fallback
	}
	return v.json[0] == 't'
}

// power returns a number as voting power; nil if absent. rounded is true if it had more places than are kept.
func (v value) power() (power *decimal.Decimal, rounded bool) {
	return v.amount(governance.ParsePower, "a number from 0")
}

// amount is power by another parser. wanted says what parse accepts, for the reason of a rejection.
func (v value) amount(
	parse func(string) (decimal.Decimal, bool, error), wanted string,
) (power *decimal.Decimal, rounded bool) {
	if v.absent() {
		return nil, false
	}
	read, rounded, err := parse(v.numberText())
	if err != nil {
		v.reject("is refused: %v; want %s", err, wanted)
		return nil, false
	}
	return &read, rounded
}

// baseUnits returns an amount in the smallest unit of a token with some decimals as voting power, or nil if the
// value is absent, and whether it is rounded. Upstream states such amounts as strings.
func (v value) baseUnits(decimals int32) (power *decimal.Decimal, rounded bool) {
	parse := func(text string) (decimal.Decimal, bool, error) { return governance.ParseUnits(text, decimals) }
	return v.amount(parse, "a whole number of smallest units from 0")
}

// tokenDecimals returns the decimals of a token; governance.PowerScale where none are stated.
func (v value) tokenDecimals() int32 {
	const maxTokenDecimals = 77 // bounds the decimals of a token: the greatest number of 256 bits has 78 digits
	stated := v.count()
	switch {
	case stated == nil:
		return governance.PowerScale
	case *stated > maxTokenDecimals:
		v.rejectUnlike(fmt.Sprintf("at most %d decimals", maxTokenDecimals))
		return governance.PowerScale
	}
	return int32(*stated)
}

func oneOf[T ~string](v value, allowed ...T) T {
	if !v.require(typeString) {
		return ""
	}
	found := T(v.text())
	if !slices.Contains(allowed, found) {
		words := make([]string, len(allowed))
		for i, word := range allowed {
			words[i] = string(word)
		}
		v.rejectUnlike("one of " + strings.Join(words, ", "))
	}
	return found
}
