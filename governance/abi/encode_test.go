package abi

import (
	"encoding/hex"
	"math/big"
	"math/rand/v2"
	"strings"
)

// encode writes arguments as contracts do, heads before contents.
func encode(inputs []parameter, arguments []Argument) []byte {
	var heads, contents []byte
	size := headOf(inputs)
	for i, input := range inputs {
		value := encodeValue(input.of, arguments[i])
		if !input.of.dynamic {
			heads = append(heads, value...)
			continue
		}
		heads = append(heads, word(big.NewInt(int64(size+len(contents))))...)
		contents = append(contents, value...)
	}
	return append(heads, contents...)
}

func encodeValue(of *valueType, a Argument) []byte {
	switch of.form {
	case formTuple:
		return encode(of.fields, a.Items)
	case formArray:
		elements := make([]parameter, len(a.Items))
		for i := range elements {
			elements[i].of = of.element
		}
		items := encode(elements, a.Items)
		if of.width < 0 {
			items = append(word(big.NewInt(int64(len(a.Items)))), items...)
		}
		return items
	case formBytes:
		return packed(unhex(a.Value))
	case formString:
		return packed([]byte(a.Value))
	case formBool:
		return word(big.NewInt(int64(len("false") - len(a.Value))))
	case formAddress:
		return word(new(big.Int).SetBytes(unhex(a.Value)))
	case formFixedBytes:
		return append(unhex(a.Value), make([]byte, wordBytes-of.width)...)
	default:
		n, _ := new(big.Int).SetString(a.Value, 10)
		return word(n)
	}
}

func packed(content []byte) []byte {
	padded := append(word(big.NewInt(int64(len(content)))), content...)
	return append(padded, make([]byte, (wordBytes-len(content)%wordBytes)%wordBytes)...)
}

// word writes a number, a negative one as its two's complement.
func word(n *big.Int) []byte {
	if n.Sign() < 0 {
		n = new(big.Int).Add(n, new(big.Int).Lsh(big.NewInt(1), 256))
	}
	return n.FillBytes(make([]byte, wordBytes))
}

func unhex(text string) []byte {
	data, err := hex.DecodeString(strings.TrimPrefix(text, "0x"))
	if err != nil {
		panic(err)
	}
	return data
}

// invent returns arguments of every size.
func invent(r *rand.Rand, inputs []parameter) []Argument {
	arguments := make([]Argument, len(inputs))
	for i, input := range inputs {
		arguments[i] = inventValue(r, input.of)
		arguments[i].Name = input.name
	}
	return arguments
}

func inventValue(r *rand.Rand, of *valueType) Argument {
	a := Argument{Type: of.name}
	content := make([]byte, r.IntN(70))
	for i := range content {
		content[i] = byte('!' + r.IntN(90))
	}
	switch of.form {
	case formTuple:
		a.Items = invent(r, of.fields)
	case formArray:
		count := of.width
		if count < 0 {
			count = r.IntN(4)
		}
		elements := make([]parameter, count)
		for i := range elements {
			elements[i].of = of.element
		}
		a.Items = invent(r, elements)
	case formBytes:
		a.content, a.Value = content, "0x"+hex.EncodeToString(content)
	case formString:
		a.content, a.Value = content, string(content)
	case formBool:
		a.Value = []string{"true", "false"}[r.IntN(2)]
	case formAddress:
		a.Value = "0x" + hex.EncodeToString(inventNumber(r, 160).FillBytes(make([]byte, 20)))
	case formFixedBytes:
		a.Value = "0x" + hex.EncodeToString(inventNumber(r, of.width*8).FillBytes(make([]byte, of.width)))
	case formInt:
		n := inventNumber(r, of.width-1)
		if r.IntN(2) == 0 {
			n.Not(n)
		}
		a.Value = n.String()
	default:
		a.Value = inventNumber(r, of.width).String()
	}
	return a
}

// inventNumber returns a number of at most some bits: the largest, the least, or any.
func inventNumber(r *rand.Rand, bits int) *big.Int {
	limit := new(big.Int).Lsh(big.NewInt(1), uint(bits))
	switch r.IntN(3) {
	case 0:
		return limit.Sub(limit, big.NewInt(1))
	case 1:
		return big.NewInt(0)
	}
	n := new(big.Int)
	for range 8 {
		n.Lsh(n, 32).Or(n, big.NewInt(int64(r.Uint32())))
	}
	return n.Mod(n, limit)
}

func length256(n int) *big.Int { return big.NewInt(int64(n)) }
