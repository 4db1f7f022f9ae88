package openapi

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// Member is one member of a JSON object.
type Member[T any] struct {
	Name string
	// Value is what JSON shows under the name.
	Value T
}

// Members is a JSON object that keeps the order in which its members were added.
type Members[T any] []Member[T]

// Object returns an object of names, each with the value after it.
func Object(namesAndValues ...any) (object Members[any]) {
	for i := 0; i+1 < len(namesAndValues); i += 2 {
		name, _ := namesAndValues[i].(string)
		object.Add(name, namesAndValues[i+1])
	}
	return object
}

// Add appends a member.
func (m *Members[T]) Add(name string, value T) {
	*m = append(*m, Member[T]{Name: name, Value: value})
}

// Get returns the member with a name, if there is one.
func (m Members[T]) Get(name string) (value T, found bool) {
	for _, member := range m {
		if member.Name == name {
			return member.Value, true
		}
	}
	return value, false
}

// MarshalJSON implements json.Marshaler.
func (m Members[T]) MarshalJSON() ([]byte, error) {
	var text bytes.Buffer
	text.WriteByte('{')
	for i, member := range m {
		if i > 0 {
			text.WriteByte(',')
		}
		if err := encode(&text, member.Name); err != nil {
			return nil, err
		}
		text.WriteByte(':')
		if err := encode(&text, member.Value); err != nil {
			return nil, fmt.Errorf("%s: %w", member.Name, err)
		}
	}
	text.WriteByte('}')
	return text.Bytes(), nil
}

// encode appends the JSON of a value. <, > and & are not escaped, for human readers.
func encode(text *bytes.Buffer, value any) error {
	encoder := json.NewEncoder(text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return err
	}
	text.Truncate(text.Len() - 1)
	return nil
}
