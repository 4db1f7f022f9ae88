package api

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/vmihailenco/msgpack/v5"

	"pnyx/governance"
)

// Lengths of the fixed parts of a cursor, in bytes.
const (
	cursorFilterBytes = 8
	cursorMACBytes    = 16
)

// errCursor is a cursor that was altered, or belongs to another list.
var errCursor = errors.New("is not a cursor of this list with these filters")

// encodeCursor makes a cursor: a hash of the route and its filters, the position
// (the sort key of the last row), and a signature of both. It stays valid while
// data changes, because the position is a value, not a row number.
func encodeCursor(key []byte, r *request, position any) (string, error) {
	encoded, err := msgpack.Marshal(position)
	if err != nil {
		return "", fmt.Errorf("encode a cursor: %w", err)
	}
	text := append(r.filterHash(), encoded...)
	return base64.RawURLEncoding.EncodeToString(append(text, signature(key, text)...)), nil
}

// decodeCursor checks a cursor and reads its position. The error is errCursor.
func decodeCursor(key []byte, r *request, cursor string, position any) error {
	text, err := base64.RawURLEncoding.Strict().DecodeString(cursor)
	// Decoding skips line ends, which no cursor has.
	if err != nil || len(text) < cursorFilterBytes+cursorMACBytes || strings.ContainsAny(cursor, "\r\n") {
		return errCursor
	}
	text, mac := text[:len(text)-cursorMACBytes], text[len(text)-cursorMACBytes:]
	if !hmac.Equal(mac, signature(key, text)) {
		return errCursor
	}
	if string(text[:cursorFilterBytes]) != string(r.filterHash()) {
		return errCursor
	}
	if err := msgpack.Unmarshal(text[cursorFilterBytes:], position); err != nil {
		return errCursor
	}
	return nil
}

func signature(key, text []byte) []byte {
	mac := hmac.New(sha256.New, key)
	mac.Write(text)
	return mac.Sum(nil)[:cursorMACBytes]
}

// filterHash identifies the list: the route and every parameter but those that select
// the page.
func (r *request) filterHash() []byte {
	var filters []string
	for i, param := range r.route.Params {
		if value := r.values[i]; value != "" && param.Kind != Cursor && param.Name != "limit" {
			filters = append(filters, param.Name+"="+quoteValue(param.Kind, value)+"\n")
		}
	}
	slices.Sort(filters)
	hash := sha256.New()
	fmt.Fprintf(hash, "%s\n%s", r.route.ID, strings.Join(filters, ""))
	return hash.Sum(nil)[:cursorFilterBytes]
}

// quoteValue writes a value as Go source, so that no text can pass for a further
// parameter. The form is fixed: cursors that callers hold depend on it.
func quoteValue(kind Kind, value string) string {
	switch kind {
	case Integer, Boolean:
		return value
	case EnumList:
		return fmt.Sprintf("%#v", strings.Split(value, ","))
	case Instant:
		if stamp, err := governance.ParseTimestamp(value); err == nil {
			return strconv.FormatInt(int64(stamp), 10)
		}
	case Text, Enum, Cursor, ProposalKey, TopicKey, Voter, Month:
	}
	return strconv.Quote(value)
}
