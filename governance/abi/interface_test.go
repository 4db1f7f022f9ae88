package abi

import (
	"bytes"
	"testing"

	"pnyx/test/check"
)

// The names that a DAO states for functions do not say what a known function does that has their selector.
func TestAKnownSelectorIsOfTheKnownFunction(t *testing.T) {
	of := Interfaces{}
	check.MustDo(t, of.Add("eip155:1:"+alice, "many_msg_babbage(bytes1 calm)", "hello(bytes1 calm)"))
	word := bytes.Repeat([]byte{0}, wordBytes)
	for signature, decoded := range map[string]bool{"transfer(address,uint256)": false, "hello(bytes1)": true} {
		selector := SelectorOf(signature)
		d := of.Decode(Call{Chain: "eip155:1", Target: alice, Value: "0", Data: append(selector[:], word...)})
		if d.Undecoded == "" != decoded {
			t.Errorf("%s: got %q, %q, want it decoded: %t", signature, d.Function, d.Undecoded, decoded)
		}
	}
}

func TestAnErrorInAnABISaysWhereItIs(t *testing.T) {
	for _, file := range []string{`[{"type":"function","name":7}]`, `{"abi":[{"type":"function","name":7}]}`} {
		if _, err := ParseInterface([]byte(file)); err == nil || !containsAll(err.Error(), "number Name") {
			t.Errorf("%s: got %v, want the name refused", file, err)
		}
	}
}

// FuzzParseInterface feeds any file: what is read of it are functions that decode their own calls.
func FuzzParseInterface(f *testing.F) {
	f.Add([]byte(`[{"type":"function","name":"fund","inputs":[{"name":"calls","type":"tuple[2][]","components":[{"name":"to","type":"address"}]},{"type":"uint256"}]}]`))
	f.Add([]byte(`{"abi":[{"type":"function","name":"lend"},{"type":"event","name":"Lent"}]}`))
	f.Fuzz(func(t *testing.T, file []byte) {
		signatures, err := ParseInterface(file)
		if err != nil {
			return
		}
		of := Interfaces{}
		if err := of.Add("eip155:1:"+alice, signatures...); err != nil || len(of) == 0 {
			t.Fatalf("got %v for %q, want functions", err, signatures)
		}
		for function := range of {
			d := of.Decode(Call{Chain: "eip155:1", Target: alice, Value: "0", Data: function.selector[:]})
			recode(t, &d)
		}
	})
}
