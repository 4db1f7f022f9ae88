package mcp

import (
	"bytes"
	"encoding/json"
	"iter"
)

// encode returns the JSON of a value of ours.
func encode(value any) []byte {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		panic(err) // every value is a struct or map of texts, numbers and JSON
	}
	return bytes.TrimSuffix(text.Bytes(), []byte("\n"))
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

// The functions below read valid JSON without decoding it: every byte of a value is passed
// on as it is.

// elements returns the elements of an array.
func elements(array []byte) [][]byte {
	var all [][]byte
	at := space(array, space(array, 0)+1)
	for at < len(array) && array[at] != ']' {
		end := valueEnd(array, at)
		all = append(all, array[at:end])
		at = separator(array, end)
	}
	return all
}

// members returns the members of an object, each key between its quotes.
func members(object []byte) iter.Seq2[string, []byte] {
	return func(yield func(string, []byte) bool) {
		at := space(object, space(object, 0)+1)
		for at < len(object) && object[at] == '"' {
			end := valueEnd(object, at)
			begin := space(object, space(object, end)+1)
			value := object[begin:valueEnd(object, begin)]
			if !yield(string(object[at+1:end-1]), value) {
				return
			}
			at = separator(object, begin+len(value))
		}
	}
}

// separator returns where the next element begins after one that ends at a position; where
// there is none, that is the closing bracket.
func separator(text []byte, at int) int {
	at = space(text, at)
	if at < len(text) && text[at] == ',' {
		return space(text, at+1)
	}
	return at
}

// space returns the first position from at that is no white space.
func space(text []byte, at int) int {
	for at < len(text) && (text[at] == ' ' || text[at] == '\n' || text[at] == '\t' || text[at] == '\r') {
		at++
	}
	return at
}

// valueEnd returns where the value ends that begins at a position.
func valueEnd(text []byte, at int) int {
	depth, inString := 0, false
	for i := at; i < len(text); i++ {
		switch char := text[i]; {
		case inString && char == '\\':
			i++
		case char == '"':
			if inString = !inString; !inString && depth == 0 {
				return i + 1
			}
		case inString:
		case char == '{' || char == '[':
			depth++
		case (char == '}' || char == ']') && depth > 0:
			if depth--; depth == 0 {
				return i + 1
			}
		case depth == 0 && (char == ',' || char == '}' || char == ']' || char <= ' '):
			return i // after a number, true, false or null
		}
	}
	return len(text)
}
