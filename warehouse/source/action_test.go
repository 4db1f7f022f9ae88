package source_test

import (
	"encoding/hex"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pnyx/test/check"
	"pnyx/warehouse/record"
	"pnyx/warehouse/source"
)

func unhex(t *testing.T, digits string) []byte {
	t.Helper()
	return check.Must(hex.DecodeString(digits))(t)
}

const (
	safe  = "0x00000000000000000000000000000000000000fe"
	token = "0x00000000000000000000000000000000000000cd"
)

// A proposal brings the calls that it executes, and counts if they cannot be read: then it says
// how many there are, and brings none.
func TestProposalsBringTheirCalls(t *testing.T) {
	t.Parallel()
	snapshot := `{"id":"0xAB","space":{"id":"harbor.eth"},"author":null,"type":"basic","title":"Budget"%s}`
	tally := `{"id":"1","onchainId":"1","organization":{"slug":"harbor"},"status":"active","metadata":{"title":"Budget"}%s}`
	pay := &record.Action{Chain: "eip155:1", Target: token, Value: "0", Calldata: []byte{1, 2, 3, 4}}
	ofSafe := &record.Action{Chain: "eip155:100", Executor: safe, Target: token, Value: "5", Calldata: []byte{}, Delegate: true}
	count := func(n uint64) *uint64 { return &n }
	long, many := strings.Repeat("9", 3<<20), strings.Repeat("{},", 1<<20-1)
	multisend := "0x8d80ff0a" + fmt.Sprintf("%064x%064x01%s%064x%064x", 32, 85, token[2:], 5, 0) + strings.Repeat("0", 22)
	upper := strings.Replace(token, "cd", "CD", 1)
	for name, test := range map[string]struct {
		line   string
		stated *uint64
		want   []*record.Action
	}{
		"nothing stated":                  {fmt.Sprintf(tally, ""), nil, nil},
		"null":                            {fmt.Sprintf(tally, `,"executableCalls":null`), nil, nil},
		"none":                            {fmt.Sprintf(tally, `,"executableCalls":[]`), count(0), nil},
		"a call":                          {fmt.Sprintf(tally, `,"executableCalls":[{"target":"`+upper+`","value":"0","calldata":"0x01020304","signature":"f()","chainId":"eip155:1"}]`), count(1), []*record.Action{pay}},
		"a call whose data is not padded": {fmt.Sprintf(tally, `,"executableCalls":[{"target":"`+token+`","calldata":"0x26121ff001","signature":"f()","chainId":"1"}]`), count(1), []*record.Action{{Chain: "eip155:1", Target: token, Value: "0", Calldata: []byte{0x26, 0x12, 0x1f, 0xf0, 1}}}},
		"a call that cannot be read":      {fmt.Sprintf(tally, `,"executableCalls":[{"target":"`+token+`","value":"1e999999999"},{}]`), count(2), nil},
		"what is no call":                 {fmt.Sprintf(tally, `,"executableCalls":[1,2,3]`), count(3), nil},
		"a number of many digits":         {fmt.Sprintf(tally, `,"executableCalls":[{"target":"`+token+`","value":"`+long+`"},{"target":"`+token+`","value":"0x`+long+`"}]`), count(2), nil},
		"many calls":                      {fmt.Sprintf(tally, `,"executableCalls":[`+many+`{}]`), count(1 << 20), nil},
		"many calls of a Safe":            {fmt.Sprintf(snapshot, `,"plugins":{"safeSnap":{"txs":[[`+many+`{}]]}}`), count(1), nil},
		"no plugins stated":               {fmt.Sprintf(snapshot, ""), nil, nil},
		"no plugins":                      {fmt.Sprintf(snapshot, `,"plugins":{}`), count(0), nil},
		"another plugin":                  {fmt.Sprintf(snapshot, `,"plugins":{"poap":{"safes":3}}`), count(0), nil},
		"SafeSnap":                        {fmt.Sprintf(snapshot, `,"plugins":{"safeSnap":{"safes":[{"network":"100","umaAddress":"`+safe+`","txs":[[{"to":"`+token+`","value":"005","data":"","operation":"1"}]]}]}}`), count(1), []*record.Action{ofSafe}},
		"SafeSnap with named batches":     {fmt.Sprintf(snapshot, `,"plugins":{"safeSnap":{"safes":[{"network":100,"umaAddress":"`+safe+`","txs":[{"hash":"0x1","transactions":[{"to":"`+token+`","value":"0x5","data":"0x","operation":1}]}]}]}}`), count(1), []*record.Action{ofSafe}},
		"SafeSnap with calls for batches": {fmt.Sprintf(snapshot, `,"plugins":{"safeSnap":{"safes":[{"network":100,"umaAddress":"`+safe+`","txs":[{"to":"`+token+`","value":"5","data":"0x","operation":"1"}]}]}}`), count(1), []*record.Action{ofSafe}},
		"a batch without calls":           {fmt.Sprintf(snapshot, `,"plugins":{"safeSnap":{"safes":[{"network":"1","txs":[{"hash":"0x1"}]}]}}`), count(1), nil},
		"oSnap":                           {fmt.Sprintf(snapshot, `,"plugins":{"oSnap":{"safes":[{"network":"100","safeAddress":"`+safe+`","transactions":[{"type":"raw","formatted":["`+token+`",1,"0.5e1","0x"]}]}]}}`), count(1), []*record.Action{ofSafe}},
		"oSnap with one Safe":             {fmt.Sprintf(snapshot, `,"plugins":{"oSnap":{"safe":{"network":"100","safeAddress":"`+safe+`","transactions":[{"to":"`+token+`","operation":1,"value":"5","data":"0x"}]}}}`), count(1), []*record.Action{ofSafe}},
		"oSnap with a call beside":        {fmt.Sprintf(snapshot, `,"plugins":{"oSnap":{"safes":[{"network":"100","safeAddress":"`+safe+`","transactions":[{"to":"`+safe+`","value":"7","data":"0x","formatted":["`+token+`",1,"5","0x"]}]}]}}`), count(1), []*record.Action{ofSafe}},
		"names in another letter case":    {fmt.Sprintf(snapshot, `,"plugins":{"oSnap":{"safes":[{"network":"100","safeAddress":"`+safe+`","transactions":[{"to":"`+token+`","operation":1,"value":"5","data":"0x","To":"`+safe+`"}],"Transactions":[]}]},"OSNAP":{}}`), count(1), []*record.Action{ofSafe}},
		"a batch that executes another":   {fmt.Sprintf(snapshot, `,"plugins":{"safeSnap":{"safes":[{"network":100,"umaAddress":"`+safe+`","txs":[{"transactions":[{"to":"`+safe+`","value":"1"}],"mainTransaction":{"to":"`+token+`","value":"5","data":"0x","operation":"1"}}]}]}}`), count(1), []*record.Action{ofSafe}},
		"a batch that a multisend makes":  {fmt.Sprintf(snapshot, `,"plugins":{"safeSnap":{"safes":[{"network":100,"umaAddress":"`+safe+`","txs":[{"transactions":[{"to":"`+token+`","value":"5","data":"0x","operation":1}],"mainTransaction":{"to":"0x8D29bE29923b68abfDD21e541b9374737B49cdAD","value":"0","operation":1,"data":"`+multisend+`"}}]}]}}`), count(1), []*record.Action{ofSafe}},
		"a plan that cannot be read":      {fmt.Sprintf(snapshot, `,"plugins":{"safeSnap":{"safes":7}}`), count(1), nil},
		"a batch that cannot be read":     {fmt.Sprintf(snapshot, `,"plugins":{"safeSnap":{"safes":[{"network":"1","txs":[7]}]}}`), count(1), nil},
		"a plan with a call to no target": {fmt.Sprintf(snapshot, `,"plugins":{"oSnap":{"safes":[{"transactions":[{"to":"harbor.eth"}]}]}}`), count(1), nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			format := source.TallyProposal
			if strings.Contains(test.line, "space") {
				format = source.SnapshotProposal
			}
			parsed, reason := source.ParseLine(source.File{Format: format}, test.line)
			p, is := parsed.(*record.Proposal)
			if !is {
				t.Fatal(reason)
			}
			if diff := cmp.Diff(test.want, p.Actions); diff != "" || !cmp.Equal(p.StatedActions, test.stated) {
				t.Errorf("states %v, want %v; %s", p.StatedActions, test.stated, diff)
			}
		})
	}
}
