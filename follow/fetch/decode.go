package fetch

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"
)

const (
	// maxDepth bounds how deep objects and arrays of an answer nest.
	maxDepth = 64
	// maxValues bounds the values of an answer, and so the memory that a small answer takes
	// when it is decoded.
	maxValues = 1 << 20
	// maxClipped bounds a text of upstream in an error.
	maxClipped = 300
)

// Clip bounds a text of upstream that becomes part of an error.
func Clip(text string) string {
	return strings.ToValidUTF8(text[:min(len(text), maxClipped)], "\uFFFD")
}

// Decode decodes JSON of an upstream system so that all who read it read the same. Keys are
// the fields' names to the letter: the standard library alone takes any case, and of
// several the last. It refuses an object with a key twice, a key that differs from a field's
// by letter case alone, text that is not UTF-8, and what is nested too deep or has too many
// values.
func Decode(text []byte, into any) error {
	if !utf8.Valid(text) {
		return errors.New("the answer is not UTF-8")
	}
	c := checker{text: text}
	c.value(reflect.TypeOf(into), 0)
	if c.refused != nil {
		return c.refused
	}
	if err := json.Unmarshal(text, into); err != nil {
		return fmt.Errorf("the answer is no such JSON: %w", err)
	}
	return nil
}

// checker goes over the values of an answer once. It does not tell what is no JSON, which the
// standard library does after it.
type checker struct {
	text    []byte
	at      int
	values  int
	refused error
}

// peek skips whitespace and returns the next byte; 0 at the end, or after a refusal.
func (c *checker) peek() byte {
	for c.at < len(c.text) && strings.IndexByte(" \t\r\n", c.text[c.at]) >= 0 {
		c.at++
	}
	if c.at == len(c.text) || c.refused != nil {
		return 0
	}
	return c.text[c.at]
}

// value checks the next value, which is decoded into a type; nil for one that is decoded
// later or never.
func (c *checker) value(into reflect.Type, depth int) {
	opened := c.peek()
	switch c.values++; {
	case c.values > maxValues:
		c.refused = fmt.Errorf("the answer has more than %d values", maxValues)
	case depth > maxDepth:
		c.refused = fmt.Errorf("the answer nests deeper than %d levels", maxDepth)
	case opened == '{':
		c.object(decodedType(into), depth)
	case opened == '[':
		c.array(decodedType(into), depth)
	case opened == '"':
		c.quoted()
	default:
		for c.at < len(c.text) && strings.IndexByte(",]} \t\r\n", c.text[c.at]) < 0 {
			c.at++
		}
	}
}

// quoted skips a string and returns it with its quotation marks.
func (c *checker) quoted() []byte {
	start := c.at
	for c.at++; c.at < len(c.text) && c.text[c.at] != '"'; c.at++ {
		if c.text[c.at] == '\\' {
			c.at++
		}
	}
	c.at = min(c.at+1, len(c.text))
	return c.text[start:c.at]
}

func (c *checker) array(into reflect.Type, depth int) {
	var element reflect.Type
	if into != nil && into.Kind() == reflect.Slice {
		element = into.Elem()
	}
	c.at++
	for next := c.peek(); next != ']' && next != 0; next = c.peek() {
		if next == ',' {
			c.at++
		}
		before := c.at
		if c.value(element, depth+1); c.at == before {
			return // no JSON
		}
	}
	c.at = min(c.at+1, len(c.text))
}

// fewKeys is the number of keys up to which comparing them one by one is fastest.
const fewKeys = 16

func (c *checker) object(into reflect.Type, depth int) {
	var few []string
	var many map[string]bool
	c.at++
	for next := c.peek(); next != '}' && next != 0; next = c.peek() {
		if next == ',' {
			c.at++
		}
		if c.peek() != '"' {
			return // no JSON
		}
		key := unquote(c.quoted())
		if many[key] || slices.Contains(few, key) {
			c.refused = fmt.Errorf("an object of the answer has the key %q twice", Clip(key))
			return
		}
		switch {
		case many != nil:
			many[key] = true
		case len(few) == fewKeys:
			many = map[string]bool{key: true}
		default:
			few = append(few, key)
		}
		if c.peek() != ':' {
			return // no JSON
		}
		c.at++
		field, err := fieldType(into, key)
		if err != nil {
			c.refused = err
			return
		}
		c.value(field, depth+1)
	}
	c.at = min(c.at+1, len(c.text))
}

// unquote returns the content of a JSON string.
func unquote(quoted []byte) string {
	if len(quoted) > 1 && bytes.IndexByte(quoted, '\\') < 0 {
		return string(quoted[1 : len(quoted)-1])
	}
	var text string
	_ = json.Unmarshal(quoted, &text) // what is no JSON is refused later
	return text
}

// decodedType returns the type that an object or array is decoded into; nil for one that
// decodes itself.
func decodedType(into reflect.Type) reflect.Type {
	for into != nil && into.Kind() == reflect.Pointer {
		into = into.Elem()
	}
	if into == nil || reflect.PointerTo(into).Implements(reflect.TypeFor[json.Unmarshaler]()) {
		return nil
	}
	return into
}

// fieldType returns the type that the value of a key is decoded into; nil for none. The
// error is a key that is written in another case than the field's.
func fieldType(into reflect.Type, key string) (reflect.Type, error) {
	switch {
	case into == nil:
		return nil, nil //nolint:nilnil // no type is no error
	case into.Kind() == reflect.Map:
		return into.Elem(), nil
	case into.Kind() != reflect.Struct:
		return nil, nil //nolint:nilnil // as above; json says what is wrong
	}
	for field := range into.Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		switch name = cmp.Or(name, field.Name); {
		case name == key:
			return field.Type, nil
		case strings.EqualFold(name, key):
			return nil, fmt.Errorf("the answer has the key %q in place of %q", Clip(key), name)
		}
	}
	return nil, nil //nolint:nilnil // as above
}
