package chain

import (
	"encoding/hex"
	"errors"
	"fmt"
	"math/big"
	"strings"

	"pnyx/governance/abi"
)

const wordBytes = 32

var errLayout = errors.New("data is not coded as the event declares")

func keccak(text string) string { return "0x" + hex.EncodeToString(abi.Keccak([]byte(text))) }

func unhex(text string) ([]byte, error) {
	digits, prefixed := strings.CutPrefix(text, "0x")
	bytes, err := hex.DecodeString(digits)
	if err != nil || !prefixed {
		return nil, fmt.Errorf("%w: not hexadecimal", errLayout)
	}
	return bytes, nil
}

// fields are decoded parameters of an event or results of a call.
type fields []any

// decode reads the parameters of an event, the first of which are in topics and the others
// in data. Arrays, which nothing here reads, are nil.
func decode(types, topics []string, data []byte) (fields, error) {
	if len(topics) > len(types) {
		return nil, fmt.Errorf("%w: %d topics for %d parameters", errLayout, len(topics), len(types))
	}
	var decoded fields
	for i, kind := range types {
		from, at := data, (i-len(topics))*wordBytes
		if i < len(topics) {
			word, err := unhex(topics[i])
			if err != nil {
				return nil, err
			}
			from, at = word, 0
		}
		value, err := decodeAt(kind, from, at)
		if err != nil {
			return nil, err
		}
		decoded = append(decoded, value)
	}
	return decoded, nil
}

// decodeAt reads a parameter whose word, or the offset of whose content, is at a place.
func decodeAt(kind string, data []byte, at int) (any, error) {
	if at+wordBytes > len(data) {
		return nil, fmt.Errorf("%w: %d bytes end before %s at %d", errLayout, len(data), kind, at)
	}
	word := data[at : at+wordBytes]
	number := new(big.Int).SetBytes(word)
	maxBits, isNumber := map[string]int{"bool": 1, "uint8": 8, "uint64": 64, "address": 160, "uint256": 256}[kind]
	if isNumber && number.BitLen() > maxBits {
		return nil, fmt.Errorf("%w: %s above %d bits", errLayout, kind, maxBits)
	}
	switch kind {
	case "address":
		return "0x" + hex.EncodeToString(word[12:]), nil
	case "bool", "uint8", "uint64", "uint256":
		return number, nil
	case "bytes32":
		return "0x" + hex.EncodeToString(word), nil
	case "string", "bytes":
		content, err := dynamic(data, number)
		if kind == "string" {
			return string(content), err
		}
		return content, err
	}
	return nil, nil //nolint:nilnil // an array that nothing reads
}

// dynamic returns the content at an offset: its length, then its bytes.
func dynamic(data []byte, offset *big.Int) ([]byte, error) {
	if !offset.IsInt64() || offset.Int64() > int64(len(data)-wordBytes) {
		return nil, fmt.Errorf("%w: %d bytes end before their content", errLayout, len(data))
	}
	start := int(offset.Int64()) + wordBytes
	length := new(big.Int).SetBytes(data[start-wordBytes : start])
	if !length.IsInt64() || length.Int64() > int64(len(data)-start) {
		return nil, fmt.Errorf("%w: content is cut", errLayout)
	}
	return data[start : start+int(length.Int64())], nil
}

func (f fields) number(at int) *big.Int {
	n, _ := f[at].(*big.Int) // the table of events says what it is
	return n
}

func (f fields) text(at int) string {
	text, _ := f[at].(string) // as above
	return text
}

// callData returns the data of a call: the selector of a signature, and numbers.
func callData(signature string, args ...*big.Int) string {
	var data strings.Builder
	data.WriteString(keccak(signature)[:10])
	for _, arg := range args {
		fmt.Fprintf(&data, "%064x", arg)
	}
	return data.String()
}
