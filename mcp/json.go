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

// membersOf returns the JSON of an object without its braces.
func membersOf(object any) []byte {
	text := encode(object)
	return text[1 : len(text)-1]
}

// appendString appends a text as JSON. The text is valid UTF-8.
func appendString[Text string | []byte](out []byte, text Text) []byte {
	return append(appendEscaped(append(out, '"'), text), '"')
}

// appendEscaped appends what appendString does between quotes. A text and one after it give
// the same as both at once.
func appendEscaped[Text string | []byte](out []byte, text Text) []byte {
	const hex = "0123456789abcdef"
	begin := 0
	for i := range len(text) {
		char := text[i]
		if char >= ' ' && char != '"' && char != '\\' {
			continue
		}
		out = append(out, text[begin:i]...)
		begin = i + 1
		switch char {
		case '"', '\\':
			out = append(out, '\\', char)
		case '\n':
			out = append(out, '\\', 'n')
		default:
			out = append(out, '\\', 'u', '0', '0', hex[char>>4], hex[char&15])
		}
	}
	return append(out, text[begin:]...)
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
