package fetch

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"time"
	"unicode/utf8"

	"pnyx/governance"
)

const (
	// maxDepth bounds how deep objects and arrays of an answer nest.
	maxDepth = 64
	// maxValues bounds the values of an answer, and so the memory that a small one takes when it is decoded.
	maxValues = 1 << 20
	// maxClipped bounds a text of upstream in an error.
	maxClipped = 300
)

// ErrMalformed reports an answer that Decode refuses although it may be JSON.
var ErrMalformed = errors.New("malformed answer")

// Clip bounds a text of upstream that becomes part of an error.
func Clip(text string) string {
	return strings.ToValidUTF8(text[:min(len(text), maxClipped)], "\uFFFD")
}

// Decode decodes JSON of an upstream system so that all who read it read the same. Keys are the
// fields' names to the letter: the standard library alone takes any case, and of several the last.
// It refuses an object with a key twice, a key that differs from a field's by letter case alone,
// text that is not UTF-8, and what is nested too deep or has too many values.
func Decode(text []byte, into any) error {
	if !utf8.Valid(text) {
		return fmt.Errorf("%w: it is not UTF-8", ErrMalformed)
	}
	c := checker{decoder: json.NewDecoder(bytes.NewReader(text))}
	c.decoder.UseNumber()
	if err := c.value(reflect.TypeOf(into), 0); err != nil && !errors.Is(err, errNoJSON) {
		return fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	if err := json.Unmarshal(text, into); err != nil {
		return fmt.Errorf("the answer is no such JSON: %w", err)
	}
	return nil
}

// Part is a part of an answer that Decode leaves unchecked: it is decoded by another Decode.
type Part struct{ json.RawMessage }

// errNoJSON ends a check: the standard library says after it what is no JSON.
var errNoJSON = errors.New("no JSON")

// checker goes over the values of an answer once.
type checker struct {
	decoder *json.Decoder
	values  int
}

// value checks the next value, which is decoded into a type; nil for one that is decoded later or never.
func (c *checker) value(into reflect.Type, depth int) error {
	switch c.values++; {
	case c.values > maxValues:
		return fmt.Errorf("the answer has more than %d values", maxValues)
	case depth > maxDepth:
		return fmt.Errorf("the answer nests deeper than %d levels", maxDepth)
	}
	if into == reflect.TypeFor[Part]() {
		var part json.RawMessage
		if c.decoder.Decode(&part) != nil {
			return errNoJSON
		}
		return nil
	}
	token, err := c.decoder.Token()
	if err != nil {
		return errNoJSON
	}
	switch into = decodedType(into); token {
	case json.Delim('{'):
		err = c.object(into, depth)
	case json.Delim('['):
		err = c.array(into, depth)
	default:
		return nil
	}
	if err != nil {
		return err
	}
	if _, err := c.decoder.Token(); err != nil { // the closing bracket
		return errNoJSON
	}
	return nil
}

func (c *checker) array(into reflect.Type, depth int) error {
	var element reflect.Type
	if into != nil && into.Kind() == reflect.Slice {
		element = into.Elem()
	}
	for c.decoder.More() {
		if err := c.value(element, depth+1); err != nil {
			return err
		}
	}
	return nil
}

func (c *checker) object(into reflect.Type, depth int) error {
	keys := map[string]bool{}
	for c.decoder.More() {
		token, err := c.decoder.Token()
		key, is := token.(string)
		if err != nil || !is {
			return errNoJSON
		}
		if keys[key] {
			return fmt.Errorf("an object of the answer has the key %q twice", Clip(key))
		}
		keys[key] = true
		field, err := fieldType(into, key)
		if err != nil {
			return err
		}
		if err := c.value(field, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// decodedType returns the type that an object or array is decoded into; nil for one that decodes itself.
func decodedType(into reflect.Type) reflect.Type {
	for into != nil && into.Kind() == reflect.Pointer {
		into = into.Elem()
	}
	if into == nil || reflect.PointerTo(into).Implements(reflect.TypeFor[json.Unmarshaler]()) {
		return nil
	}
	return into
}

// fieldType returns the type that the value of a key is decoded into; nil for none. A key in another case is an error.
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

// Count is a whole number from 0 in an answer, in any notation. Another value is 0: it must not hide the fields beside
// it, such as the id, and the record that is read of the item refuses it.
type Count uint64

// UnmarshalJSON implements json.Unmarshaler.
func (c *Count) UnmarshalJSON(text []byte) error {
	n, _ := governance.ParseWhole(unquoted(text))
	*c = Count(n)
	return nil
}

// Seconds is a time in an answer, in whole seconds since 1970; 0 for another value, as Count.
type Seconds int64

// UnmarshalJSON implements json.Unmarshaler.
func (s *Seconds) UnmarshalJSON(text []byte) error {
	at, _ := governance.ParseUnix(unquoted(text))
	*s = Seconds(at / 1000)
	return nil
}

// Time is a time in an answer in the form of RFC 3339; the zero time for another value, as Count.
type Time struct{ time.Time }

// UnmarshalJSON implements json.Unmarshaler.
func (t *Time) UnmarshalJSON(text []byte) error {
	_ = t.Time.UnmarshalJSON(text)
	return nil
}

// unquoted returns the text of a number, which may be stated as a string.
func unquoted(text []byte) string { return string(bytes.Trim(text, `"`)) }
