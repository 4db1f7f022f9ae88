package env

import (
	"bytes"
	"encoding/json"

	"github.com/google/go-cmp/cmp"
)

// Plain is a value as JSON has it: null is not an empty value, and numbers are their text.
func Plain(value any) (p any) {
	text, err := json.Marshal(value)
	if err != nil {
		return err
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	if err := decoder.Decode(&p); err != nil {
		return err
	}
	return p
}

// DiffJSON compares two values as JSON has them; "" for equal values.
func DiffJSON(want, got any) string { return cmp.Diff(Plain(want), Plain(got)) }

// SameJSON reports whether two JSON texts have the same value. Equal texts are the fast
// case.
func SameJSON(a, b json.RawMessage) bool { return bytes.Equal(a, b) || DiffJSON(a, b) == "" }
