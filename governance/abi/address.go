package abi

import (
	"encoding/hex"
	"strings"

	"golang.org/x/crypto/sha3"
)

// Keccak returns the Keccak-256 hash of some bytes.
func Keccak(parts ...[]byte) []byte {
	hash := sha3.NewLegacyKeccak256()
	for _, part := range parts {
		hash.Write(part) // a hash never fails
	}
	return hash.Sum(nil)
}

// IsAddress reports whether a text is an address of 20 bytes in hexadecimal, in any letter case.
func IsAddress(text string) bool {
	digits, prefixed := strings.CutPrefix(text, "0x")
	return prefixed && len(digits) == 40 && strings.Trim(digits, "0123456789abcdefABCDEF") == ""
}

// IsValidAddress reports whether a text is an address other than zero. Letters of both cases are a checksum by
// EIP-55, which has to be right.
func IsValidAddress(text string) bool {
	if !IsAddress(text) || strings.Trim(text[2:], "0") == "" {
		return false
	}
	lower := strings.ToLower(text[2:])
	return text[2:] == lower || text[2:] == strings.ToUpper(lower) || text == Checksummed(text)
}

// Checksummed returns an address with its EIP-55 checksum.
func Checksummed(address string) string {
	digits := []byte(strings.ToLower(address[2:]))
	hash := hex.EncodeToString(Keccak(digits))
	for i, digit := range digits {
		if digit >= 'a' && hash[i] > '7' {
			digits[i] = digit - 'a' + 'A'
		}
	}
	return "0x" + string(digits)
}
