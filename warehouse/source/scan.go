package source

import (
	"bytes"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"unicode/utf8"
)

// The functions in this file check and split JSON in one pass, without decoding it: unused fields
// cost little, and numbers keep their text. A function whose name begins with end returns the index
// after what begins at text[at], or invalid where that is not JSON. They do not check UTF-8.

// invalid is the end of what is not JSON.
const invalid = -1

// maxNesting bounds the depth of objects and arrays, as the standard library does.
const maxNesting = 10_000

// checkJSON returns an error unless text is one JSON value in UTF-8. It says what is wrong
// in the words of the standard library.
func checkJSON(text []byte) error {
	if !utf8.Valid(text) {
		return fmt.Errorf("not UTF-8 at byte %d", firstInvalidUTF8(text)+1)
	}
	if json.Valid(text) {
		return nil
	}
	var value json.RawMessage
	return fmt.Errorf("not JSON: %w", json.Unmarshal(text, &value))
}

// firstInvalidUTF8 returns the index of the first byte that is not UTF-8.
func firstInvalidUTF8(text []byte) int {
	at := 0
	for at < len(text) {
		r, size := utf8.DecodeRune(text[at:])
		if r == utf8.RuneError && size == 1 {
			break
		}
		at += size
	}
	return at
}

type member struct{ name, json []byte }

// appendMembers appends the fields of a JSON object in their order. It reports whether text
// is such an object, with nothing but whitespace after it.
func appendMembers(members []member, text []byte) ([]member, bool) {
	if len(text) == 0 || text[0] != '{' {
		return members, false
	}
	end := endOfObject(text, 0, 1, &members)
	return members, end != invalid && skipSpace(text, end) == len(text)
}

// elements yields the values of a JSON array with their indexes. The array must be valid.
func elements(array []byte) iter.Seq2[int, []byte] {
	return func(yield func(int, []byte) bool) {
		at := skipSpace(array, 1)
		for i := 0; array[at] != ']'; i++ {
			end := endOfValue(array, at, 1)
			if !yield(i, array[at:end]) {
				return
			}
			if at = skipSpace(array, end); array[at] == ',' {
				at = skipSpace(array, at+1)
			}
		}
	}
}

// unescape returns the content of a JSON string. An unpaired surrogate, which UTF-8
// cannot represent, becomes U+FFFD.
func unescape(quoted []byte) []byte {
	content := quoted[1 : len(quoted)-1]
	if bytes.IndexByte(content, '\\') < 0 {
		return content
	}
	var text string
	if err := json.Unmarshal(quoted, &text); err != nil {
		return content // Not reached: the text is JSON.
	}
	return []byte(text)
}

// compactJSON returns a JSON value without whitespace between its tokens.
func compactJSON(value []byte) string {
	if !bytes.ContainsAny(value, " \t\r\n") {
		return string(value)
	}
	var short bytes.Buffer
	if err := json.Compact(&short, value); err != nil {
		return string(value) // Not reached: the text is JSON.
	}
	return short.String()
}

// endOfValue ends a value inside of so many objects and arrays.
func endOfValue(text []byte, at, depth int) int {
	if at >= len(text) {
		return invalid
	}
	switch text[at] {
	case '"':
		return endOfString(text, at)
	case '{':
		return endOfObject(text, at, depth+1, nil)
	case '[':
		return endOfArray(text, at, depth+1)
	case 't':
		return endOfWord(text, at, "true")
	case 'f':
		return endOfWord(text, at, "false")
	case 'n':
		return endOfWord(text, at, "null")
	}
	return endOfNumber(text, at)
}

func endOfWord(text []byte, at int, word string) int {
	if !bytes.HasPrefix(text[at:], []byte(word)) {
		return invalid
	}
	return at + len(word)
}

func endOfString(text []byte, at int) int {
	for at++; at < len(text); at++ {
		switch c := text[at]; {
		case c == '"':
			return at + 1
		case c == '\\':
			if at = endOfEscape(text, at) - 1; at < 0 {
				return invalid
			}
		case c < ' ':
			return invalid
		}
	}
	return invalid
}

func endOfEscape(text []byte, at int) int {
	at++
	if at >= len(text) {
		return invalid
	}
	switch text[at] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return at + 1
	case 'u':
		const digits = 4
		if at+digits < len(text) && !slices.ContainsFunc(text[at+1:at+1+digits], isNotHexadecimal) {
			return at + 1 + digits
		}
	}
	return invalid
}

func isNotHexadecimal(c byte) bool {
	return !isDigit(c) && (c < 'a' || c > 'f') && (c < 'A' || c > 'F')
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func endOfNumber(text []byte, at int) int {
	if at < len(text) && text[at] == '-' {
		at++
	}
	if at < len(text) && text[at] == '0' {
		at++
	} else if at = endOfDigits(text, at); at == invalid {
		return invalid
	}
	if at < len(text) && text[at] == '.' {
		if at = endOfDigits(text, at+1); at == invalid {
			return invalid
		}
	}
	if at < len(text) && (text[at] == 'e' || text[at] == 'E') {
		at++
		if at < len(text) && (text[at] == '+' || text[at] == '-') {
			at++
		}
		return endOfDigits(text, at)
	}
	return at
}

func endOfDigits(text []byte, at int) int {
	start := at
	for at < len(text) && isDigit(text[at]) {
		at++
	}
	if at == start {
		return invalid
	}
	return at
}

// endOfObject ends an object, the one at so many levels. It appends its fields to members
// unless that is nil.
func endOfObject(text []byte, at, depth int, members *[]member) int {
	at = skipSpace(text, at+1)
	if at < len(text) && text[at] == '}' && depth <= maxNesting {
		return at + 1
	}
	for {
		if at >= len(text) || text[at] != '"' || depth > maxNesting {
			return invalid
		}
		end := endOfString(text, at)
		if end == invalid {
			return invalid
		}
		name := text[at:end]
		if at = skipSpace(text, end); at >= len(text) || text[at] != ':' {
			return invalid
		}
		at = skipSpace(text, at+1)
		if end = endOfValue(text, at, depth); end == invalid {
			return invalid
		}
		if members != nil {
			*members = append(*members, member{unescape(name), text[at:end]})
		}
		var last bool
		if at, last = endOfItem(text, end, '}'); last || at == invalid {
			return at
		}
	}
}

// endOfArray ends an array, the one at so many levels.
func endOfArray(text []byte, at, depth int) int {
	at = skipSpace(text, at+1)
	if at < len(text) && text[at] == ']' && depth <= maxNesting {
		return at + 1
	}
	for depth <= maxNesting {
		end := endOfValue(text, at, depth)
		if end == invalid {
			return invalid
		}
		var last bool
		if at, last = endOfItem(text, end, ']'); last || at == invalid {
			return at
		}
	}
	return invalid
}

// endOfItem returns where the next item of an object or array begins, or, after the last
// item, the index after closing.
func endOfItem(text []byte, at int, closing byte) (next int, last bool) {
	at = skipSpace(text, at)
	switch {
	case at < len(text) && text[at] == closing:
		return at + 1, true
	case at < len(text) && text[at] == ',':
		return skipSpace(text, at+1), false
	}
	return invalid, false
}

// skipSpace returns the index of what follows JSON whitespace.
func skipSpace(text []byte, at int) int {
	for at < len(text) && (text[at] == ' ' || text[at] == '\t' || text[at] == '\r' || text[at] == '\n') {
		at++
	}
	return at
}
