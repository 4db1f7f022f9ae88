package source

import (
	"bytes"
	"encoding/json"
	"fmt"
	"iter"
	"unicode/utf8"
)

// The functions in this file split JSON without decoding it: unused fields cost little, and numbers keep their
// text. They check nothing, and panic on text that is not JSON: line.open has checked the line. A function whose
// name begins with end returns the index after what begins at text[at].

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

// appendMembers appends the fields of a JSON object in their order.
func appendMembers(members []member, object []byte) []member {
	at := skipSpace(object, 1)
	for object[at] != '}' {
		end := endOfString(object, at)
		name := unescape(object[at:end])
		at = skipSpace(object, skipSpace(object, end)+1) // behind the colon
		end = endOfValue(object, at)
		members = append(members, member{name, object[at:end]})
		at = nextItem(object, end)
	}
	return members
}

// elements yields the values of a JSON array with their indexes.
func elements(array []byte) iter.Seq2[int, []byte] {
	return func(yield func(int, []byte) bool) {
		at := skipSpace(array, 1)
		for i := 0; array[at] != ']'; i++ {
			end := endOfValue(array, at)
			if !yield(i, array[at:end]) {
				return
			}
			at = nextItem(array, end)
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

func endOfValue(text []byte, at int) int {
	switch text[at] {
	case '"':
		return endOfString(text, at)
	case '{', '[':
		return endOfNested(text, at)
	}
	if length := bytes.IndexAny(text[at:], ",]} \t\r\n"); length >= 0 {
		return at + length
	}
	return len(text)
}

func endOfNested(text []byte, at int) int {
	for depth := 0; ; at++ {
		switch text[at] {
		case '"':
			at = endOfString(text, at) - 1
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return at + 1
			}
		}
	}
}

func endOfString(text []byte, at int) int {
	for at++; text[at] != '"'; at++ {
		if text[at] == '\\' {
			at++
		}
	}
	return at + 1
}

// nextItem returns the index of the item after one that has ended, or of the closing bracket.
func nextItem(text []byte, at int) int {
	if at = skipSpace(text, at); text[at] == ',' {
		return skipSpace(text, at+1)
	}
	return at
}

// skipSpace returns the index of what follows JSON whitespace.
func skipSpace(text []byte, at int) int {
	for at < len(text) && (text[at] == ' ' || text[at] == '\t' || text[at] == '\r' || text[at] == '\n') {
		at++
	}
	return at
}
