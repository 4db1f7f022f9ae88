package x402

import (
	"fmt"
	"regexp"

	"pnyx/governance/abi"
)

var addressForm = regexp.MustCompile(`^0x[0-9a-fA-F]{40}$`)

// checkAddress refuses an address without a valid EIP-55 checksum: money sent to a mistyped address is lost.
func checkAddress(address string) error {
	if want := abi.Checksummed(address); address != want {
		return fmt.Errorf("%q has no valid EIP-55 checksum, which would be %s: compare it digit by digit with its source",
			address, want)
	}
	return nil
}
