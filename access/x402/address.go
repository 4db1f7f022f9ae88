package x402

import (
	"encoding/hex"
	"fmt"
	"regexp"
	"strings"

	"golang.org/x/crypto/sha3"
)

// addressForm matches an address in any letter case.
var addressForm = regexp.MustCompile(`^0x[0-9a-fA-F]{40}$`)

// checkAddress refuses an address without a valid EIP-55 checksum: money sent to a mistyped
// address is lost.
func checkAddress(address string) error {
	if !addressForm.MatchString(address) {
		return fmt.Errorf("%q is not an address: want 0x and 40 hexadecimal digits", address)
	}
	if want := checksummed(address); address != want {
		return fmt.Errorf("%q has no valid EIP-55 checksum, which would be %s: compare it digit by digit with its source",
			address, want)
	}
	return nil
}

// checksummed returns an address with its EIP-55 checksum: a letter is upper case where
// the hash of the lower-case address has a digit above 7.
func checksummed(address string) string {
	digits := strings.ToLower(address[2:])
	hash := hex.EncodeToString(keccak([]byte(digits)))
	spelled := []byte(digits)
	for i, digit := range spelled {
		if digit >= 'a' && hash[i] > '7' {
			spelled[i] = digit - 'a' + 'A'
		}
	}
	return "0x" + string(spelled)
}

func keccak(parts ...[]byte) []byte {
	hash := sha3.NewLegacyKeccak256()
	for _, part := range parts {
		hash.Write(part)
	}
	return hash.Sum(nil)
}
