package source

import "bytes"

// maxDepth is how deep lists and objects may stand in each other.
const maxDepth = 10_000

// isJSON says whether text is one JSON value, as json.Valid does, which takes more than
// twice the time: an import spent more on it than on anything else. Each function below
// returns what follows the value that text begins with.
func isJSON(text []byte) bool {
	rest, ok := afterValue(skipSpace(text), 0)
	return ok && len(skipSpace(rest)) == 0
}

func afterValue(text []byte, depth int) (rest []byte, ok bool) {
	if len(text) == 0 {
		return nil, false
	}
	switch text[0] {
	case '"':
		return afterText(text)
	case '{':
		return afterNested(text, '}', afterMember, depth+1)
	case '[':
		return afterNested(text, ']', afterValue, depth+1)
	case 't':
		return bytes.CutPrefix(text, []byte("true"))
	case 'f':
		return bytes.CutPrefix(text, []byte("false"))
	case 'n':
		return bytes.CutPrefix(text, []byte("null"))
	}
	return afterNumber(text)
}

// afterNested passes over a list or an object, of which after passes over one part.
func afterNested(
	text []byte, end byte, after func([]byte, int) ([]byte, bool), depth int,
) (rest []byte, ok bool) {
	rest = skipSpace(text[1:])
	if depth > maxDepth || len(rest) == 0 {
		return nil, false
	}
	if rest[0] == end {
		return rest[1:], true
	}
	for {
		if rest, ok = after(rest, depth); !ok {
			return nil, false
		}
		rest = skipSpace(rest)
		if len(rest) == 0 || rest[0] != ',' && rest[0] != end {
			return nil, false
		}
		if rest[0] == end {
			return rest[1:], true
		}
		rest = skipSpace(rest[1:])
	}
}

func afterMember(text []byte, depth int) (rest []byte, ok bool) {
	if len(text) == 0 || text[0] != '"' {
		return nil, false
	}
	if rest, ok = afterText(text); !ok {
		return nil, false
	}
	rest = skipSpace(rest)
	if len(rest) == 0 || rest[0] != ':' {
		return nil, false
	}
	return afterValue(skipSpace(rest[1:]), depth)
}

func afterText(text []byte) (rest []byte, ok bool) {
	for at := 1; at < len(text); at++ {
		switch c := text[at]; {
		case c == '"':
			return text[at+1:], true
		case c < ' ':
			return nil, false
		case c == '\\':
			length := lengthOfEscape(text[at+1:])
			if length == 0 {
				return nil, false
			}
			at += length
		}
	}
	return nil, false
}

// lengthOfEscape returns the length of what follows a backslash; 0 where that is no
// escape.
func lengthOfEscape(text []byte) int {
	const hexDigits = 4
	if len(text) == 0 {
		return 0
	}
	switch text[0] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 1
	case 'u':
		if len(text) > hexDigits && !bytes.ContainsFunc(text[1:1+hexDigits], isNoHex) {
			return 1 + hexDigits
		}
	}
	return 0
}

func isNoHex(c rune) bool {
	return (c < '0' || c > '9') && (c < 'a' || c > 'f') && (c < 'A' || c > 'F')
}

func afterNumber(text []byte) (rest []byte, ok bool) {
	rest, _ = bytes.CutPrefix(text, []byte("-"))
	if whole, zero := bytes.CutPrefix(rest, []byte("0")); zero {
		rest, ok = whole, true
	} else {
		rest, ok = afterDigits(rest)
	}
	if ok && len(rest) > 0 && rest[0] == '.' {
		rest, ok = afterDigits(rest[1:])
	}
	if ok && len(rest) > 0 && (rest[0] == 'e' || rest[0] == 'E') {
		rest = rest[1:]
		if len(rest) > 0 && (rest[0] == '+' || rest[0] == '-') {
			rest = rest[1:]
		}
		rest, ok = afterDigits(rest)
	}
	return rest, ok
}

// afterDigits passes over one digit or more.
func afterDigits(text []byte) (rest []byte, ok bool) {
	at := 0
	for at < len(text) && text[at] >= '0' && text[at] <= '9' {
		at++
	}
	return text[at:], at > 0
}
