package mcp

import (
	"bytes"
	"encoding/json"
	"iter"

	"pnyx/governance"
)

func encode(value any) []byte {
	text, err := governance.JSON(value)
	if err != nil {
		panic(err) // every value is a struct or map of texts, numbers and JSON
	}
	return text
}

// The functions below split valid JSON: every value is passed on as it is.

func elements(array []byte) (all []json.RawMessage) {
	_ = json.Unmarshal(array, &all) // an array, as the route says
	return all
}

// members returns the members of an object in their order.
func members(object []byte) iter.Seq2[string, json.RawMessage] {
	return func(yield func(string, json.RawMessage) bool) {
		decoder := json.NewDecoder(bytes.NewReader(object))
		_, err := decoder.Token() // the opening brace
		for err == nil && decoder.More() {
			var key json.Token
			if key, err = decoder.Token(); err != nil {
				return
			}
			name, _ := key.(string)
			var value json.RawMessage
			if err = decoder.Decode(&value); err != nil || !yield(name, value) {
				return
			}
		}
	}
}
