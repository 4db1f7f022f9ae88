package source

import (
	"bytes"
	"encoding/json"
	"fmt"
	"iter"
	"unicode/utf8"
)

// The functions in this file split JSON without decoding it, so that unused fields cost
// nothing and numbers keep their text. All but checkJSON require text that checkJSON
// accepts: they do not check for errors and panic on invalid JSON.

// checkJSON returns an error unless text is one JSON value in UTF-8.
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
	rest := skipSpace(object[1:])
	for rest[0] != '}' {
		end := endOfString(rest)
		name := rest[:end]
		rest = skipSpace(rest[end:])
		rest = skipSpace(rest[len(":"):])
		end = endOfValue(rest)
		members = append(members, member{unescape(name), rest[:end]})
		rest = skipSpace(rest[end:])
		if rest[0] == ',' {
			rest = skipSpace(rest[1:])
		}
	}
	return members
}

// elements yields the values of a JSON array with their indexes.
func elements(array []byte) iter.Seq2[int, []byte] {
	return func(yield func(int, []byte) bool) {
		rest := skipSpace(array[1:])
		for i := 0; rest[0] != ']'; i++ {
			end := endOfValue(rest)
			if !yield(i, rest[:end]) {
				return
			}
			rest = skipSpace(rest[end:])
			if rest[0] == ',' {
				rest = skipSpace(rest[1:])
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

// endOfValue returns the length of the JSON value at the beginning of text.
func endOfValue(text []byte) int {
	switch text[0] {
	case '"':
		return endOfString(text)
	case '{', '[':
		return endOfNested(text)
	}
	end := 0
	for end < len(text) && !isSpace(text[end]) &&
		text[end] != ',' && text[end] != ']' && text[end] != '}' {
		end++
	}
	return end
}

// endOfString returns the length of the JSON string at the beginning of text.
func endOfString(text []byte) int {
	at := 1
	for text[at] != '"' {
		if text[at] == '\\' {
			at++
		}
		at++
	}
	return at + 1
}

// endOfNested returns the length of the object or array at the beginning of text.
func endOfNested(text []byte) int {
	depth, at := 0, 0
	for {
		switch text[at] {
		case '"':
			at += endOfString(text[at:])
			continue
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		}
		at++
		if depth == 0 {
			return at
		}
	}
}

// skipSpace returns text without leading JSON whitespace.
func skipSpace(text []byte) []byte {
	for len(text) > 0 && isSpace(text[0]) {
		text = text[1:]
	}
	return text
}

func isSpace(c byte) bool {
	return c == ' ' || c == '\t' || c == '\r' || c == '\n'
}
