package demo_test

import (
	"encoding/hex"
	"strings"
	"testing"

	"pnyx/demo"
	"pnyx/governance/abi"
	"pnyx/test/env"
)

// checkCalls decodes every call: the demonstration has one of each kind, one with a call inside,
// one that goes to another chain, and one that nobody can decode.
func checkCalls(t *testing.T, d data, _ demo.Summary) {
	t.Helper()
	found := map[abi.Kind]bool{}
	undecoded, elsewhere := 0, false
	for _, p := range d.onChain {
		for _, c := range p.ExecutableCalls {
			data := env.Must(hex.DecodeString(strings.TrimPrefix(c.Calldata, "0x")))(t)
			decoded := abi.Decode(abi.Call{Chain: c.ChainID, Target: c.Target, Value: c.Value, Signature: c.Signature, Data: data})
			if decoded.Undecoded != "" {
				undecoded++
				continue
			}
			found[decoded.Kind] = true
			for _, inside := range decoded.Calls {
				elsewhere = elsewhere || inside.Chain != "" && inside.Chain != c.ChainID
			}
		}
	}
	for _, kind := range abi.Kinds() {
		if !found[kind] {
			t.Errorf("no call is of kind %s", kind)
		}
	}
	if undecoded == 0 || !elsewhere {
		t.Errorf("%d calls cannot be decoded, one goes to another chain: %t; want some, true", undecoded, elsewhere)
	}
}
