package mcp

import (
	"encoding/json"
	"strconv"
	"unicode/utf8"
)

type window struct {
	// text is the JSON of the text: all of it.
	text []byte
	// offset and limit are where the part begins, and how long it may be, in characters.
	offset, limit int
}

// append appends the object with the part of the text, cut between characters, in at most room bytes; null for no text.
func (w window) append(out []byte, room int) []byte {
	const textRoom = 128 // what the object with a part of a text takes beside the text, in bytes
	var text *string
	_ = json.Unmarshal(w.text, &text) // a string or null, as the route says
	if text == nil {
		return append(out, `{"text":null,"offset":0,"totalChars":0,"truncated":false,"nextOffset":null}`...)
	}
	total := utf8.RuneCountInString(*text)
	offset := min(w.offset, total)
	from := byteOffset(*text, offset)
	part := (*text)[from:]
	part = part[:min(byteOffset(part, w.limit), escapedPrefix(part, room-textRoom))]
	out = appendString(append(out, `{"text":`...), part)
	next := offset + utf8.RuneCountInString(part)
	out = strconv.AppendInt(append(out, `,"offset":`...), int64(offset), 10)
	out = strconv.AppendInt(append(out, `,"totalChars":`...), int64(total), 10)
	if next >= total {
		return append(out, `,"truncated":false,"nextOffset":null}`...)
	}
	out = strconv.AppendInt(append(out, `,"truncated":true,"nextOffset":`...), int64(next), 10)
	return append(out, '}')
}

// byteOffset returns where a character of a text begins; at its end for one beyond it.
func byteOffset(text string, char int) int {
	for at := range text {
		if char == 0 {
			return at
		}
		char--
	}
	return len(text)
}

// escapedPrefix returns the length of a text's longest beginning that takes at most room bytes as JSON.
func escapedPrefix(text string, room int) int {
	for at, char := range text {
		switch {
		case char == '"' || char == '\\' || char == '\n':
			room -= 2
		case char < ' ' || char == '\u2028' || char == '\u2029':
			room -= 6
		default:
			room -= utf8.RuneLen(char)
		}
		if room < 0 {
			return at
		}
	}
	return len(text)
}
