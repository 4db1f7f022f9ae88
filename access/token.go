package access

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"hash/crc32"
	"math/big"
	"strings"
)

// The text of a token is "pnyx_", the token's id, "_", 32 random bytes in base 62 and a checksum.
// Secret scanners recognize the prefix, and the checksum rejects a mistyped token without a lookup.
const (
	tokenPrefix   = "pnyx_"
	idDigits      = 12
	secretBytes   = 32
	secretDigits  = 43
	checkDigits   = 6
	tokenLength   = len(tokenPrefix) + idDigits + 1 + secretDigits + checkDigits
	base62        = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	base62Decimal = 62
)

// TokenHash is the SHA-256 of a token. It identifies a token and does not reveal it.
type TokenHash [sha256.Size]byte

// HashToken returns the hash of a token's text.
func HashToken(token string) TokenHash { return sha256.Sum256([]byte(token)) }

// equal compares in constant time. No token has the zero hash.
func (h TokenHash) equal(other TokenHash) bool {
	return subtle.ConstantTimeCompare(h[:], other[:]) == 1
}

// NewTokenID returns a random id.
func NewTokenID() string { return rand.Text()[:idDigits] }

// GenerateToken returns the text of a new token with an id. It is stored nowhere: only its hash is.
func GenerateToken(id string) string {
	secret := make([]byte, secretBytes)
	_, _ = rand.Read(secret) // it never fails
	text := fmt.Sprintf("%s%s_%0*s", tokenPrefix, id, secretDigits, new(big.Int).SetBytes(secret).Text(base62Decimal))
	check := checksum(text)
	return text + string(check[:])
}

// ParseToken returns the id in the text of a token, or ErrUnauthorized, which does not quote a malformed text.
func ParseToken(token string) (id string, err error) {
	rest, found := strings.CutPrefix(token, tokenPrefix)
	if len(token) != tokenLength || !found || rest[idDigits] != '_' || !isBase62(rest[:idDigits]) || !isBase62(rest[idDigits+1:]) ||
		checksum(token[:tokenLength-checkDigits]) != [checkDigits]byte([]byte(token[tokenLength-checkDigits:])) {
		return "", fmt.Errorf("%w: it is malformed", ErrUnauthorized)
	}
	return rest[:idDigits], nil
}

func isBase62(text string) bool { return strings.Trim(text, base62) == "" }

func checksum(text string) (check [checkDigits]byte) {
	sum := crc32.ChecksumIEEE([]byte(text))
	for i := checkDigits - 1; i >= 0; i-- {
		check[i] = base62[sum%base62Decimal]
		sum /= base62Decimal
	}
	return check
}
