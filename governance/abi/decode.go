package abi

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"math/big"
	"unicode/utf8"
)

// errEncoding reports bytes that no encoder writes for their types.
var errEncoding = errors.New("bytes are not encoded as the signature declares")

// Argument is a decoded value.
type Argument struct {
	// Name is the name of the parameter; empty where unknown.
	Name string `json:"name" msgpack:"name"`
	Type string `json:"type" msgpack:"type"`
	// Value is a decimal number, hexadecimal, a truth value or a text; empty for arrays and tuples.
	Value string `json:"value" msgpack:"value"`
	// Items are the elements of an array or the fields of a tuple.
	Items   []Argument `json:"items" msgpack:"items"`
	content []byte
}

// decodeAll reads arguments that fill the data exactly. Only the encoding of contracts and libraries is accepted:
// contents follow the heads in order, without gaps, overlaps or set padding. So encoding the result again gives
// the same bytes, and the result is larger than the data by a bounded factor at most.
func decodeAll(inputs []parameter, data []byte) ([]Argument, error) {
	arguments, used, err := decodeFields(inputs, data)
	if err == nil && used != len(data) {
		err = fmt.Errorf("%w: %d bytes too many", errEncoding, len(data)-used)
	}
	return arguments, err
}

// decodeFields reads values whose heads begin the data, and returns how many bytes they use.
func decodeFields(fields []parameter, data []byte) ([]Argument, int, error) {
	next := headOf(fields)
	if next > len(data) {
		return nil, 0, fmt.Errorf("%w: cut at byte %d", errEncoding, len(data))
	}
	arguments := make([]Argument, len(fields))
	at := 0
	for i, field := range fields {
		content := data[at : at+field.of.head]
		if field.of.dynamic {
			if offset, ok := length(content, len(data)); !ok || offset != next {
				return nil, 0, fmt.Errorf("%w: %s is not where its head says", errEncoding, field.of.name)
			}
			content = data[next:]
		}
		argument, used, err := decodeValue(field.of, content)
		if err != nil {
			return nil, 0, err
		}
		argument.Name = field.name
		arguments[i] = argument
		if field.of.dynamic {
			next += used
		}
		at += field.of.head
	}
	return arguments, next, nil
}

// length reads a word that counts bytes or elements, at most a limit.
func length(word []byte, limit int) (int, bool) {
	n := new(big.Int).SetBytes(word[:wordBytes])
	if !n.IsInt64() || n.Int64() > int64(limit) {
		return 0, false
	}
	return int(n.Int64()), true
}

func decodeValue(of *valueType, data []byte) (a Argument, used int, err error) {
	a.Type = of.name
	switch of.form {
	case formTuple:
		a.Items, used, err = decodeFields(of.fields, data)
	case formArray:
		a.Items, used, err = decodeArray(of, data)
	case formBytes, formString:
		a.content, used, err = decodeBytes(data)
		if a.Value = "0x" + hex.EncodeToString(a.content); of.form == formString {
			a.Value = string(a.content)
		}
		if of.form == formString && !utf8.Valid(a.content) {
			err = fmt.Errorf("%w: a text is not UTF-8", errEncoding)
		}
	default:
		a.Value, err = decodeWord(of, data[:wordBytes])
		used = wordBytes
	}
	return a, used, err
}

func decodeArray(of *valueType, data []byte) ([]Argument, int, error) {
	count, begin := of.width, 0
	if count < 0 {
		if begin = wordBytes; len(data) < begin {
			return nil, 0, fmt.Errorf("%w: an array is cut", errEncoding)
		}
		n, ok := length(data, (len(data)-begin)/of.element.head)
		if !ok {
			return nil, 0, fmt.Errorf("%w: an array has fewer elements than it states", errEncoding)
		}
		count = n
	}
	elements := make([]parameter, count)
	for i := range elements {
		elements[i].of = of.element
	}
	items, used, err := decodeFields(elements, data[begin:])
	return items, begin + used, err
}

func decodeBytes(data []byte) ([]byte, int, error) {
	if len(data) < wordBytes {
		return nil, 0, fmt.Errorf("%w: bytes are cut", errEncoding)
	}
	count, ok := length(data, len(data)-wordBytes)
	padded := (count + wordBytes - 1) / wordBytes * wordBytes
	if !ok || padded > len(data)-wordBytes || !isZero(data[wordBytes+count:wordBytes+padded]) {
		return nil, 0, fmt.Errorf("%w: bytes are cut, or their padding is set", errEncoding)
	}
	return data[wordBytes : wordBytes+count], wordBytes + padded, nil
}

func decodeWord(of *valueType, word []byte) (string, error) {
	number := new(big.Int).SetBytes(word)
	var fits bool
	var text string
	switch of.form {
	case formInt:
		if word[0]&0x80 != 0 {
			number.Sub(number, new(big.Int).Lsh(big.NewInt(1), wordBytes*8))
		}
		bound := new(big.Int).Lsh(big.NewInt(1), uint(of.width-1))
		fits = number.Cmp(bound) < 0 && number.Cmp(bound.Neg(bound)) >= 0
		text = number.String()
	case formAddress:
		fits, text = number.BitLen() <= 160, "0x"+hex.EncodeToString(word[12:])
	case formBool:
		fits, text = number.BitLen() <= 1, "false"
		if number.Sign() > 0 {
			text = "true"
		}
	case formFixedBytes:
		fits, text = isZero(word[of.width:]), "0x"+hex.EncodeToString(word[:of.width])
	default:
		fits, text = number.BitLen() <= of.width, number.String()
	}
	if !fits {
		return "", fmt.Errorf("%w: a word is no %s", errEncoding, of.name)
	}
	return text, nil
}

func isZero(data []byte) bool { return len(bytes.Trim(data, "\x00")) == 0 }

// Bytes returns what bytes or a text hold.
func (a *Argument) Bytes() []byte { return a.content }

// IsUnlimited reports whether an argument is the largest number of a type of amounts: an allowance without limit.
func (a *Argument) IsUnlimited() bool {
	return a.Type == "uint256" && a.Value == maxUint(256) || a.Type == "uint160" && a.Value == maxUint(160)
}

func maxUint(bits uint) string {
	limit := new(big.Int).Lsh(big.NewInt(1), bits)
	return limit.Sub(limit, big.NewInt(1)).String()
}
