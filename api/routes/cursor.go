package routes

import (
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/vmihailenco/msgpack/v5"
	"golang.org/x/crypto/chacha20poly1305"

	"pnyx/api/param"
	"pnyx/governance"
)

// cursorBlock is what positions are rounded up to, in bytes: a cursor's length tells nothing of an everyday row.
const cursorBlock = 128

// errCursor is a cursor that was altered, or belongs to another list.
var errCursor = errors.New("is not a cursor of this list with these filters")

// cursorCipher makes and reads cursors: the position after which a page begins (the sort
// key of the last row), encrypted and bound to the route and its filters. A cursor tells
// its holder nothing, and stays valid while data changes, because the position is a
// value, not a row number.
//
// The nonce is a keyed hash of what is encrypted, so that every node makes the same
// cursor of one position, and pages keep their ETags. It is safe for concurrent use.
type cursorCipher struct {
	secret, nonceKey []byte
	aead             cipher.AEAD
}

// newCursorCipher derives a cipher from the secret that all nodes share.
func newCursorCipher(secret []byte) (*cursorCipher, error) {
	encryption, err := hkdf.Key(sha256.New, secret, nil, "pnyx cursor encryption", chacha20poly1305.KeySize)
	if err != nil {
		return nil, fmt.Errorf("derive the key of cursors: %w", err)
	}
	nonce, err := hkdf.Key(sha256.New, secret, nil, "pnyx cursor nonce", sha256.Size)
	if err != nil {
		return nil, fmt.Errorf("derive the key of nonces: %w", err)
	}
	aead, err := chacha20poly1305.NewX(encryption)
	if err != nil {
		return nil, fmt.Errorf("cipher of cursors: %w", err)
	}
	return &cursorCipher{secret: secret, nonceKey: nonce, aead: aead}, nil
}

// encode makes the cursor of a position in the list that a request asks for.
func (k *cursorCipher) encode(r *Request, position any) (string, error) {
	text, err := msgpack.Marshal(position)
	if err != nil {
		return "", fmt.Errorf("encode a cursor: %w", err)
	}
	text = append(text, make([]byte, -len(text)&(cursorBlock-1))...) // msgpack ignores what follows a value
	filters := r.filterHash()
	nonce := hmac.New(sha256.New, k.nonceKey)
	nonce.Write(filters)
	nonce.Write(text)
	sealed := nonce.Sum(make([]byte, 0, sha256.Size+len(text)+k.aead.Overhead()))[:k.aead.NonceSize()]
	return base64.RawURLEncoding.EncodeToString(k.aead.Seal(sealed, sealed, text, filters)), nil
}

// decode checks a cursor and reads its position. The error is errCursor.
func (k *cursorCipher) decode(r *Request, cursor string, position any) error {
	sealed, err := base64.RawURLEncoding.Strict().DecodeString(cursor)
	// Decoding skips line ends, which no cursor has.
	if err != nil || len(sealed) < k.aead.NonceSize() || strings.ContainsAny(cursor, "\r\n") {
		return errCursor
	}
	nonce, sealed := sealed[:k.aead.NonceSize()], sealed[k.aead.NonceSize():]
	text, err := k.aead.Open(sealed[:0], nonce, sealed, r.filterHash())
	if err != nil {
		return errCursor
	}
	if err := msgpack.Unmarshal(text, position); err != nil {
		return errCursor
	}
	return nil
}

// filterHash identifies the list: the route and every parameter that a cursor is bound to.
func (r *Request) filterHash() []byte {
	var filters []string
	for i, one := range r.Route.Params {
		if value := r.values[i]; value != "" && one.Kind != param.Cursor && !one.Unbound {
			filters = append(filters, one.Name+"="+quoteValue(one.Kind, value)+"\n")
		}
	}
	slices.Sort(filters)
	hash := sha256.New()
	fmt.Fprintf(hash, "%s\n%s", r.Route.ID, strings.Join(filters, ""))
	return hash.Sum(nil)
}

// quoteValue writes a value as Go source: no text passes for a parameter. Callers' cursors depend on the form.
func quoteValue(kind param.Kind, value string) string {
	switch kind {
	case param.Integer, param.Boolean:
		return value
	case param.EnumList:
		return fmt.Sprintf("%#v", strings.Split(value, ","))
	case param.Instant:
		if stamp, err := governance.ParseTimestamp(value); err == nil {
			return strconv.FormatInt(int64(stamp), 10)
		}
	case param.Text, param.Enum, param.Cursor, param.ProposalKey, param.TopicKey, param.Voter, param.Month:
	}
	return strconv.Quote(value)
}
