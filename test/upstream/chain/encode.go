package chain

import (
	"encoding/hex"
	"fmt"
	"math/big"
	"strings"

	"pnyx/governance/abi"
)

const wordBytes = 32

// Keccak returns the Keccak-256 hash of a text in hexadecimal.
func Keccak(text string) string { return "0x" + hex.EncodeToString(abi.Keccak([]byte(text))) }

// Emit returns a log of an event: its signature, how many of its first parameters are indexed, and their values:
// uint64, *big.Int, an address or bytes32 as [Hex], a string, []byte, or nil for an empty array.
func Emit(address, signature string, indexed int, values ...any) Log {
	l := Log{Address: address, Topics: []string{Keccak(signature)}}
	for _, value := range values[:indexed] {
		l.Topics = append(l.Topics, "0x"+hex.EncodeToString(word(value)))
	}
	l.Data = Encode(values[indexed:]...)
	return l
}

// Hex is an address or 32 bytes in hexadecimal.
type Hex string

// List is an array.
type List []any

// Encode returns values as the contract ABI codes them.
func Encode(values ...any) string {
	var head, tail []byte
	for _, value := range values {
		content, isDynamic := dynamic(value)
		if !isDynamic {
			head = append(head, word(value)...)
			continue
		}
		head = append(head, word(uint64(len(values)*wordBytes+len(tail)))...)
		tail = append(tail, content...)
	}
	return "0x" + hex.EncodeToString(append(head, tail...))
}

func dynamic(value any) (content []byte, isDynamic bool) {
	switch v := value.(type) {
	case nil:
		return word(uint64(0)), true
	case string:
		content = []byte(v)
	case []byte:
		content = v
	case List:
		elements, err := hex.DecodeString(Encode(v...)[2:])
		if err != nil {
			panic(err)
		}
		return append(word(len(v)), elements...), true
	default:
		return nil, false
	}
	padding := make([]byte, (wordBytes-len(content)%wordBytes)%wordBytes)
	return append(append(word(uint64(len(content))), content...), padding...), true
}

func word(value any) []byte {
	switch v := value.(type) {
	case uint64:
		return new(big.Int).SetUint64(v).FillBytes(make([]byte, wordBytes))
	case int:
		return big.NewInt(int64(v)).FillBytes(make([]byte, wordBytes))
	case *big.Int:
		return v.FillBytes(make([]byte, wordBytes))
	case Hex:
		digits := strings.TrimPrefix(strings.ToLower(string(v)), "0x")
		number, ok := new(big.Int).SetString(digits, 16)
		if ok {
			return number.FillBytes(make([]byte, wordBytes))
		}
	}
	panic(fmt.Sprintf("no word of the ABI: %T %v", value, value))
}
