package x402

import (
	"encoding/hex"
	"math/big"
	"strings"

	"github.com/decred/dcrd/dcrec/secp256k1/v4"
	"github.com/decred/dcrd/dcrec/secp256k1/v4/ecdsa"

	"pnyx/governance/abi"
)

// The EIP-712 types of an authorization.
const (
	typeDomain        = "EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)"
	typeAuthorization = "TransferWithAuthorization(address from,address to,uint256 value,uint256 validAfter,uint256 validBefore,bytes32 nonce)"
)

// plainSignatureBytes is the length of the signature of a plain account: r, s and a recovery code. Signatures of
// contract wallets (ERC-1271, ERC-6492) are longer, and only the contract can check them.
const plainSignatureBytes = 65

// digest returns the EIP-712 hash that an authorization is signed by.
func (a authorization) digest(r Requirements) []byte {
	chainID, _ := strings.CutPrefix(r.Network, "eip155:")
	domain := abi.Keccak(
		abi.Keccak([]byte(typeDomain)), abi.Keccak([]byte(r.Extra.Name)), abi.Keccak([]byte(r.Extra.Version)),
		numberWord(chainID), hexWord(r.Asset))
	message := abi.Keccak(
		abi.Keccak([]byte(typeAuthorization)), hexWord(a.From), hexWord(a.To),
		numberWord(a.Value), numberWord(a.ValidAfter), numberWord(a.ValidBefore), hexWord(a.Nonce))
	return abi.Keccak([]byte{0x19, 0x01}, domain, message)
}

// isSigned reports whether the plain account that pays has signed the authorization, by the rules of the token's
// contract: s is in the lower half of its range.
func (p exactPayload) isSigned(r Requirements) bool {
	raw, err := hex.DecodeString(p.Signature[2:])
	if err != nil || len(raw) != plainSignatureBytes {
		return false
	}
	var s secp256k1.ModNScalar
	if s.SetByteSlice(raw[32:64]) || s.IsOverHalfOrder() {
		return false
	}
	code := raw[64]
	if code < 2 { // some wallets leave out the 27
		code += 27
	}
	key, _, err := ecdsa.RecoverCompact(append([]byte{code}, raw[:64]...), p.Authorization.digest(r))
	if err != nil || code > 28 {
		return false
	}
	address := "0x" + hex.EncodeToString(abi.Keccak(key.SerializeUncompressed()[1:])[12:])
	return strings.EqualFold(address, p.Authorization.From)
}

// numberWord returns a decimal integer as a 32-byte word; nil if it has more bytes.
func numberWord(decimal string) []byte {
	value, ok := new(big.Int).SetString(decimal, 10)
	if !ok || value.BitLen() > 256 {
		return nil // no contract has signed over it, and no price equals it
	}
	return value.FillBytes(make([]byte, 32))
}

// hexWord returns hexadecimal digits after 0x as a 32-byte word.
func hexWord(digits string) []byte {
	raw, _ := hex.DecodeString(digits[2:]) // its form is checked, so it decodes
	word := make([]byte, 32)
	copy(word[32-len(raw):], raw)
	return word
}
