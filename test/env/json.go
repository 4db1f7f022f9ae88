package env

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"testing"

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

// Decode reads a JSON text that must be valid.
func Decode(tb testing.TB, text []byte, into any) {
	tb.Helper()
	if err := json.Unmarshal(text, into); err != nil {
		tb.Fatalf("%v in %s", err, text)
	}
}

// DiffJSON compares two values as JSON has them; "" for equal values.
func DiffJSON(want, got any) string { return cmp.Diff(Plain(want), Plain(got)) }

// SameJSON reports whether two JSON texts have the same value. Equal texts are the fast case.
func SameJSON(a, b json.RawMessage) bool { return bytes.Equal(a, b) || DiffJSON(a, b) == "" }

// WithoutAdditions returns a value of Plain without members that an earlier version did not send.
func WithoutAdditions(earlier, value any) any {
	switch value := value.(type) {
	case map[string]any:
		if earlier, is := earlier.(map[string]any); is {
			for name := range value {
				if _, sent := earlier[name]; !sent {
					delete(value, name)
					continue
				}
				value[name] = WithoutAdditions(earlier[name], value[name])
			}
		}
	case []any:
		if earlier, is := earlier.([]any); is {
			for i := range min(len(earlier), len(value)) {
				value[i] = WithoutAdditions(earlier[i], value[i])
			}
		}
	}
	return value
}

// Lacking returns a JSON text without each field of its objects, and with values that may be of another type instead.
func Lacking(tb testing.TB, text string) (texts []string) {
	tb.Helper()
	whole := Plain(json.RawMessage(text))
	write := func() { texts = append(texts, string(Must(json.Marshal(whole))(tb))) }
	var walk func(any)
	walk = func(part any) {
		switch of := part.(type) {
		case []any:
			for _, element := range of {
				walk(element)
			}
		case map[string]any:
			for _, name := range slices.Sorted(maps.Keys(of)) {
				kept := of[name]
				walk(kept)
				for _, other := range []any{nil, "", "x", -1, json.Number("1e400"), true, []any{}, []any{nil}, map[string]any{}} {
					of[name] = other
					write()
				}
				delete(of, name)
				write()
				of[name] = kept
			}
		}
	}
	walk(whole)
	return texts
}
