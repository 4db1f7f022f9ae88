package abi

import (
	"bufio"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"pnyx/test/check"
)

const (
	alice = "0x00000000000000000000000000000000000000a1"
	bob   = "0x00000000000000000000000000000000000000b2"
	carol = "0x00000000000000000000000000000000000000c3"
)

// call returns the data of a call of a known function with arguments as texts.
func call(t *testing.T, signature string, arguments ...Argument) []byte {
	t.Helper()
	f := check.Must(known().stated(Call{Signature: signature}))(t)
	selector := SelectorOf(f.signature)
	return append(selector[:], encode(f.inputs, arguments)...)
}

func of(values ...string) (list []Argument) {
	for _, value := range values {
		list = append(list, Argument{Value: value})
	}
	return list
}

func bytesOf(data []byte) string { return "0x" + hex.EncodeToString(data) }

// Every function of the table decodes what encoders write for it, and nothing else: a byte more
// or less is refused.
func TestEveryFunctionRoundTrips(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	count := 0
	for selector, functions := range known().functions {
		for _, f := range functions {
			count++
			if !slices.Contains(Kinds(), f.kind) {
				t.Errorf("%s has kind %q", f.signature, f.kind)
			}
			for range 20 {
				arguments := invent(r, f.inputs)
				data := append(selector[:], encode(f.inputs, arguments)...)
				d := Decode(Call{Target: append(slices.Clone(f.targets), alice)[0], Value: "0", Data: data})
				if d.Function != f.signature {
					t.Fatalf("%s is decoded as %q: %s", f.signature, d.Function, d.Undecoded)
				}
				if !reflect.DeepEqual(arguments, d.Arguments) { // in a hundredth of the time
					check.WantSame(t, f.signature, arguments, d.Arguments, cmpopts.EquateEmpty(), cmp.AllowUnexported(Argument{}))
				}
				if d := Decode(Call{Target: alice, Value: "0", Data: append(data, 0)}); d.Undecoded == "" {
					t.Fatalf("%s is decoded with a byte too many", f.signature)
				}
				if d := Decode(Call{Target: alice, Value: "0", Data: data[:len(data)-1]}); len(data) > 4 && d.Function == f.signature {
					t.Fatalf("%s is decoded with a byte missing", f.signature)
				}
			}
		}
	}
	if count < 250 {
		t.Errorf("the table has %d functions, want at least 250", count)
	}
}

func TestDecodes(t *testing.T) {
	pay := call(t, "transfer(address,uint256)", of(bob, "2500")...)
	packedCall := slices.Concat([]byte{0}, unhex(alice), make([]byte, 32), word(length256(len(pay))), pay)
	for _, test := range []struct {
		name string
		call Call
		want []string
	}{
		{"a payment", Call{Target: bob, Value: "7"}, []string{"transfer  7"}},
		{"an unknown function", Call{Target: bob, Value: "0", Data: []byte{1, 2, 3, 4}}, []string{"? 0x01020304"}},
		{"data of three bytes", Call{Target: bob, Value: "0", Data: []byte{1, 2, 3}}, []string{"? shorter than a selector"}},
		{"an address with high bytes", Call{Target: bob, Value: "0", Data: slices.Concat(pay[:4], []byte{1}, pay[5:])}, []string{"? no address"}},
		{"a truth value of two", Call{Target: bob, Value: "0", Signature: "f(bool)", Data: word(length256(2))}, []string{"? no bool"}},
		{"a number beyond its type", Call{Target: bob, Value: "0", Signature: "f(int8)", Data: word(length256(-129))}, []string{"? no int8"}},
		{"a token's transfer", Call{Target: alice, Value: "0", Data: pay}, []string{"transfer transfer(address,uint256) " + bob + " 2500"}},
		{
			"a stated signature",
			Call{Target: alice, Value: "0", Signature: "transfer(address,uint256)", Data: pay[4:]},
			[]string{"transfer transfer(address,uint256) " + bob + " 2500"},
		},
		{
			"a stated signature that nobody knows",
			Call{Target: alice, Value: "0", Signature: "setMood(uint8)", Data: word(length256(3))},
			[]string{"other setMood(uint8) 3"},
		},
		{"a stated signature with a space", Call{Target: alice, Value: "0", Signature: "transfer(address, uint256)", Data: pay[4:]}, []string{"? not canonical"}},
		{"a stated signature with a short type", Call{Target: alice, Value: "0", Signature: "transfer(address,uint)", Data: pay[4:]}, []string{"? not canonical"}},
		{"a stated signature that is none", Call{Target: alice, Value: "0", Signature: "now or never", Data: pay}, []string{"? the stated"}},
		{
			"a batch of a Safe",
			Call{Target: alice, Value: "0", Data: call(t, "multiSend(bytes)", of(bytesOf(slices.Concat(packedCall, packedCall)))...)},
			[]string{"batch multiSend(bytes)", "> transfer transfer(address,uint256) " + bob + " 2500", "> transfer transfer(address,uint256) " + bob + " 2500"},
		},
		{
			"a batch that is cut",
			Call{Target: alice, Value: "0", Data: call(t, "multiSend(bytes)", of(bytesOf(packedCall[:90]))...)},
			[]string{"? the calls inside"},
		},
		{
			"a timelock of Compound",
			Call{Target: alice, Value: "0", Data: call(t, "queueTransaction(address,uint256,string,bytes,uint256)",
				of(bob, "0", "transfer(address,uint256)", bytesOf(pay[4:]), "9")...)},
			[]string{"timelock queueTransaction", "> transfer transfer(address,uint256) " + bob + " 2500"},
		},
		{
			"code in the name of the caller",
			Call{Target: "0xCF57572261c7c2BCF21ffD220ea7d1a27D40A827", Value: "0", Data: call(t, "execute(address,bytes)", of(bob, bytesOf(pay))...)},
			[]string{"batch execute(address,bytes)", "> delegatecall transfer transfer(address,uint256)"},
		},
		{
			"code that contracts call, or run in their own name",
			Call{Target: alice, Value: "0", Signature: "execute(address,bytes)", Data: call(t, "execute(address,bytes)", of(bob, bytesOf(pay))...)[4:]},
			[]string{"batch execute(address,bytes)", "> undetermined transfer transfer(address,uint256)"},
		},
		{
			"an upgrade with a call",
			Call{Target: alice, Value: "0", Data: call(t, "upgradeToAndCall(address,bytes)", of(bob, bytesOf(pay))...)},
			[]string{"upgrade upgradeToAndCall(address,bytes)", "> transfer transfer(address,uint256)"},
		},
		{
			"a script of Aragon",
			Call{Target: alice, Value: "0", Data: call(t, "forward(bytes)", of(bytesOf(slices.Concat(
				[]byte{0, 0, 0, 1}, unhex(bob), word(length256(len(pay)))[28:], pay)))...)},
			[]string{"batch forward(bytes)", "> transfer transfer(address,uint256)"},
		},
		{
			"a message to Arbitrum",
			Call{Chain: "eip155:42161", Target: "0x0000000000000000000000000000000000000064", Value: "0", Data: call(t,
				"sendTxToL1(address,bytes)", of(bob, bytesOf(call(t, "schedule(address,uint256,bytes,bytes32,bytes32,uint256)",
					of("0xa723C008e76E379c55599D2E4d93879BeaFDa79C", "0", bytesOf(encode(ticket(t), of("0x4dbd4fc535ac27206064b68ffcf827b0a60bab3f",
						alice, "0", "1", "2", bytesOf(pay)))), "0x"+strings.Repeat("00", 32), "0x"+strings.Repeat("00", 32), "3")...)))...)},
			[]string{"bridge sendTxToL1", ">eip155:1 timelock schedule", ">>eip155:1 bridge (address,address", ">>>eip155:42161 transfer(address,uint256)"},
		},
		{
			"an upgrade of ZKsync",
			Call{Target: alice, Value: "0", Data: call(t, "execute(((address,uint256,bytes)[],address,bytes32))", Argument{Items: []Argument{
				{Items: []Argument{{Items: of(bob, "7", bytesOf(pay))}}}, {Value: alice}, {Value: "0x" + strings.Repeat("00", 32)},
			}})},
			[]string{"upgrade execute(((address,uint256,bytes)[],address,bytes32))", "> transfer transfer(address,uint256)"},
		},
		{
			"a message to Unichain, by Hyperlane",
			Call{Target: alice, Value: "0", Data: call(t, "callRemote(uint32,(bytes32,uint256,bytes)[])", Argument{Value: "130"},
				Argument{Items: []Argument{{Items: of("0x"+strings.Repeat("0", 24)+bob[2:], "0", bytesOf(pay))}}})},
			[]string{"bridge callRemote", ">eip155:130 transfer transfer(address,uint256)"},
		},
		{
			"a message to Polygon",
			Call{Chain: "eip155:1", Target: "0xfe5e5D361b2ad62c541bAb87C45a0B9B018389a2", Value: "0", Data: call(t,
				"sendMessageToChild(address,bytes)", of(bob, bytesOf(layout(t, "(address[],uint256[],string[],bytes[])", one(alice), one("0"), one(""), one(bytesOf(pay)))))...)},
			[]string{"bridge sendMessageToChild", ">eip155:137 bridge (address[],uint256[],string[],bytes[])", ">>eip155:137 transfer(address,uint256)"},
		},
		{
			"a message to Polygon with its values last",
			Call{Chain: "eip155:1", Target: "0xfe5e5D361b2ad62c541bAb87C45a0B9B018389a2", Value: "0", Data: call(t,
				"sendMessageToChild(address,bytes)", of(bob, bytesOf(layout(t, "(address[],bytes[],uint256[])", one(alice), one(bytesOf(pay)), one("0"))))...)},
			[]string{"bridge sendMessageToChild", ">eip155:137 bridge (address[],bytes[],uint256[])", ">>eip155:137 transfer(address,uint256)"},
		},
		{
			"a message that names its receiver alone",
			Call{Chain: "eip155:1284", Target: alice, Value: "0", Data: call(t, "publishMessage(uint32,bytes,uint8)", of("1", bytesOf(layout(t,
				"(address,address[],uint256[],bytes[])", Argument{Value: "0x8b621804a7637b781e2BbD58e256a591F2dF7d51"}, one(alice), one("0"), one(bytesOf(pay)))), "200")...)},
			[]string{"bridge publishMessage", ">eip155:8453 transfer transfer(address,uint256)"},
		},
		{
			"an upgrade that ZKsync sends",
			Call{Chain: "eip155:324", Target: "0x0000000000000000000000000000000000008008", Value: "0", Data: call(t, "sendToL1(bytes)", of(bytesOf(layout(t,
				"(((address,uint256,bytes)[],address,bytes32))", Argument{Items: []Argument{
					{Items: []Argument{{Items: of(bob, "7", bytesOf(pay))}}}, {Value: alice}, {Value: "0x" + strings.Repeat("00", 32)},
				}})))...)},
			[]string{"bridge sendToL1", ">eip155:1 transfer transfer(address,uint256)"},
		},
		{
			"a message that fits no layout",
			Call{Target: alice, Value: "0", Data: call(t, "sendToL1(bytes)", of(bytesOf(pay))...)},
			[]string{"? the calls inside"},
		},
		{
			"a call in a tuple",
			Call{Target: alice, Value: "9", Data: call(t, "requestL2TransactionDirect((uint256,uint256,address,uint256,bytes,uint256,uint256,bytes[],address))",
				Argument{Items: append(of("324", "9", bob, "7", bytesOf(pay), "1", "1"), Argument{}, Argument{Value: alice})})},
			[]string{"bridge requestL2TransactionDirect", ">eip155:324 transfer transfer(address,uint256)"},
		},
		{
			"the money of a message, less its fee",
			Call{Chain: "eip155:1", Target: "0xd19d4b5d358258f05d7b411e21a1460d11b0876f", Value: "9", Data: call(t,
				"sendMessage(address,uint256,bytes)", of(bob, "2", "0x")...)},
			[]string{"bridge sendMessage", ">eip155:59144 transfer 7"},
		},
		{
			"code that a relay of Sky runs in its own name",
			Call{Chain: "eip155:1", Target: alice, Value: "9", Data: call(t, "relayEVM(uint32,address,address,bytes,bytes,(uint256,uint256),address)", append(
				of("30184", carol, bob, bytesOf(pay), "0x"), Argument{Items: of("9", "0")}, Argument{Value: alice})...)},
			[]string{"bridge relayEVM", ">eip155:8453 delegatecall transfer transfer(address,uint256)"},
		},
		{
			"a withdrawal that a portal carries out",
			Call{Chain: "eip155:1", Target: alice, Value: "0", Data: call(t, "finalizeWithdrawalTransaction((uint256,address,address,uint256,uint256,bytes))",
				Argument{Items: of("1", alice, bob, "7", "1", bytesOf(pay))})},
			[]string{"bridge finalizeWithdrawalTransaction", ">eip155:1 call transfer transfer(address,uint256)"},
		},
		{
			"parallel calls whose code runs in the caller's name",
			Call{Target: alice, Value: "0", Data: call(t, "queue(address[],uint256[],string[],bytes[],bool[])",
				one(bob), one("0"), one(""), one(bytesOf(pay)), one("true"))},
			[]string{"timelock queue", "> delegatecall transfer transfer(address,uint256)"},
		},
		{
			"a stated name that has the selector of a known function",
			Call{Target: alice, Value: "0", Signature: "many_msg_babbage(bytes1)", Data: pay[4:]},
			[]string{"transfer transfer(address,uint256) " + bob + " 2500"},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := outline(new(Decode(test.call)), "")
			for i, want := range test.want {
				if i >= len(got) || !containsAll(got[i], want) {
					t.Fatalf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(test.want, "\n"))
				}
			}
		})
	}
}

// Functions that send native money name no token, and hand on what comes with the call.
func TestPayments(t *testing.T) {
	native := []Payment{{Amount: "7", To: bob}}
	tuple := []Argument{{Items: of(alice, bob, "7", carol)}}
	for _, test := range []struct {
		function  string
		value     string
		arguments []Argument
		want      []Payment
	}{
		{"transferNative(address,uint256)", "0", of(bob, "7"), native},
		{"sendETH(address,uint256)", "0", of(bob, "7"), native},
		{"withdrawEther(address,uint256)", "0", of(bob, "7"), []Payment{{Amount: "7", To: bob, Proceeds: true}}},
		{"transfer(address,address,uint256)", "0", of("0x"+strings.Repeat("e", 40), bob, "7"), native},
		{"disperseEther(address[],uint256[])", "7", []Argument{{Items: of(bob)}, {Items: of("7")}}, native},
		{"transferFrom((address,address,uint160,address)[])", "0", []Argument{{Items: tuple}}, []Payment{{Token: carol, Amount: "7", From: alice, To: bob}}},
		{
			"executeAllowanceTransfer(address,address,address,uint96,address,uint96,address,bytes)", "0",
			of(alice, carol, bob, "7", carol, "0", carol, "0x"),
			[]Payment{{Token: carol, Amount: "7", From: alice, To: bob}},
		},
		{
			"depositForBurn(uint256,uint32,bytes32,address)", "0", of("7", "5", "0x"+strings.Repeat("c6", 32), carol), // to Solana
			[]Payment{{Token: carol, Amount: "7", To: "0x" + strings.Repeat("c6", 32)}},
		},
		{
			"depositForBurn(uint256,uint32,bytes32,address)", "0", of("7", "6", "0x"+strings.Repeat("0", 24)+bob[2:], carol),
			[]Payment{{Token: carol, Amount: "7", To: bob}},
		},
		{
			"execTransaction(address,uint256,bytes,uint8,uint256,uint256,uint256,address,address,bytes)", "0",
			of(bob, "7", "0x", "0", "1", "99999", "1", carol, carol, "0x"),
			[]Payment{{Token: carol, From: alice, To: carol}},
		},
		{
			"execTransaction(address,uint256,bytes,uint8,uint256,uint256,uint256,address,address,bytes)", "0",
			of(bob, "7", "0x", "0", "1", "99999", "0", carol, carol, "0x"), nil,
		},
		{"mint(uint256,address)", "0", of("7", bob), []Payment{{Token: Unstated, To: bob, Proceeds: true}}},
		{"depositFor(address,uint256)", "0", of(bob, "7"), []Payment{{Token: alice, Amount: "7", To: bob, Proceeds: true}}},
		{"stakeFor(address,uint256)", "0", of(bob, "7"), []Payment{{Token: Unstated, Amount: "7", To: bob, Proceeds: true}}},
		{"requestWithdrawals(uint256[],address)", "0", []Argument{one("7"), {Value: bob}}, []Payment{{Token: Unstated, To: bob, Proceeds: true}}},
		{"requestWithdrawals(uint256[],address)", "0", []Argument{one("7"), {Value: "0x" + strings.Repeat("0", 40)}}, nil}, // the caller
		{"transfer(uint256,uint16,bytes32)", "0", of("7", "2", "0x"+strings.Repeat("0", 24)+bob[2:]), []Payment{{Token: Unstated, Amount: "7", To: bob}}},
		{"transferRemote(uint32,bytes32,uint256)", "0", of("5", "0x"+strings.Repeat("0", 24)+bob[2:], "7"), []Payment{{Token: Unstated, Amount: "7", To: bob}}},
		{"send(uint256,address,uint256,uint256,uint256,uint256)", "0", of("10", bob, "7", "1", "0", "0"), []Payment{{Token: Unstated, Amount: "7", To: bob}}}, // of Hop
		{"callContractWithToken(string,string,bytes,string,uint256)", "0", of("base", "0x0c", "0x", "axlUSDC", "7"), []Payment{{Token: Unstated, Amount: "7", To: alice}}},
		{"sweepToken(address,address)", "0", of(carol, bob), []Payment{{Token: carol, To: bob, Proceeds: true}}}, // but of Compound's bulkers
		{"recall(address,address)", "0", of(carol, bob), []Payment{{Token: Unstated, To: bob, Proceeds: true}}},
		{"recallMany(address[],address[])", "0", []Argument{one(carol), one(bob)}, []Payment{{Token: Unstated, To: bob, Proceeds: true}}},
		{"setFlowrate(address,address,int96)", "0", of(carol, bob, "7"), []Payment{{Token: carol, To: bob}}},
		{"setFlowrate(address,address,int96)", "0", of(carol, bob, "0"), nil},
		{"deleteFlow(address,address,address,bytes)", "0", of(carol, alice, bob, "0x"), nil},
		{"cancelStream(address,uint216)", "0", of(bob, "7"), nil},
		{
			"createWithDurations((address,address,uint128,address,bool,bool,(uint40,uint40),(address,uint256)))", "0",
			[]Argument{{Items: append(of(alice, bob, "7", carol, "true", "true"), Argument{Items: of("0", "9")}, Argument{Items: of(alice, "1")})}},
			[]Payment{{Token: carol, Amount: "7", To: bob}, {Token: carol, To: alice}},
		},
		{
			"ccipSend(uint64,(bytes,bytes,(address,uint256)[],address,bytes))", "0",
			[]Argument{{Value: "1"}, {Items: []Argument{
				{Value: "0x" + strings.Repeat("0", 24) + bob[2:]}, {Value: "0x"}, {Items: []Argument{{Items: of(carol, "7")}}}, {Value: alice}, {Value: "0x"},
			}}},
			[]Payment{{Token: carol, Amount: "7", To: bob}},
		},
		{"mintTo(address,uint256)", "0", of(bob, "7"), nil},
		{"depositTransaction(address,uint256,uint64,bool,bytes)", "0", of(bob, "7", "1", "false", "0x"), nil},
		{"sendMessage(address,bytes,uint32)", "7", of(bob, "0x", "1"), nil},
		{"bridgeETHTo(address,uint32,bytes)", "7", of(bob, "1", "0x"), native},
		{"depositETH(address,address,uint16)", "7", of(carol, bob, "0"), native},
		{"withdraw(address,uint256,uint32,bytes)", "0", of(carol, "7", "1", "0x"), []Payment{{Token: carol, Amount: "7", To: alice}}},
		{"swapExactTokensForETH(uint256,uint256,address[],address,uint256)", "0", []Argument{{Value: "7"}, {Value: "1"}, one(carol), {Value: bob}, {Value: "9"}}, []Payment{{To: bob, Proceeds: true}}},
		{"swapTokensForExactETH(uint256,uint256,address[],address,uint256)", "0", []Argument{{Value: "7"}, {Value: "1"}, one(carol), {Value: bob}, {Value: "9"}}, []Payment{{Amount: "7", To: bob, Proceeds: true}}},
		{"swapTokensForExactTokens(uint256,uint256,address[],address,uint256)", "0", []Argument{{Value: "7"}, {Value: "1"}, one(carol), {Value: bob}, {Value: "9"}}, []Payment{{Token: carol, Amount: "7", To: bob, Proceeds: true}}},
		{"exactInput((bytes,address,uint256,uint256))", "0", []Argument{{Items: of(carol+"000bb8"+bob[2:], bob, "7", "1")}}, []Payment{{Token: bob, To: bob, Proceeds: true}}},
		{"removeLiquidityETH(address,uint256,uint256,uint256,address,uint256)", "0", of(carol, "7", "1", "1", bob, "9"), []Payment{{Token: carol, To: bob, Proceeds: true}, {To: bob, Proceeds: true}}},
		{"exchange(int128,int128,uint256,uint256,address)", "0", of("0", "1", "7", "1", bob), []Payment{{Token: Unstated, To: bob, Proceeds: true}}},
		{"exchange(int128,int128,uint256,uint256,address)", "0", of("0", "1", "7", "1", "0x0000000000000000000000000000000000000002"), nil},
		{"claimTo(address,address,address,bool)", "0", of(alice, alice, bob, "true"), []Payment{{Token: Unstated, To: bob, Proceeds: true}}},
		{"withdraw(address,uint256,address)", "0", of(carol, maxUint(256), bob), []Payment{{Token: carol, To: bob, Proceeds: true}}},
		{
			"createRetryableTicket(address,uint256,uint256,address,address,uint256,uint256,bytes)", "9",
			of(bob, "2", "1", alice, alice, "1", "1", "0x"),
			[]Payment{{Amount: "7", To: alice}},
		},
	} {
		d := Decode(Call{Target: alice, Value: test.value, Data: call(t, test.function, test.arguments...)})
		check.WantSame(t, test.function, test.want, d.Payments())
	}
}

// outline is a line a call.
func outline(d *Decoded, indent string) []string {
	line := indent + d.Chain + " " + string(d.Operation) + " " + string(d.Kind) + " " + d.Function
	if d.Undecoded != "" {
		line = indent + "? " + d.Undecoded
	}
	if d.Function == "" {
		line += " " + d.Value
	}
	for _, a := range d.Arguments {
		line += " " + a.Value
	}
	lines := []string{line}
	for i := range d.Calls {
		lines = append(lines, outline(&d.Calls[i], indent+">")...)
	}
	return lines
}

func containsAll(text, words string) bool {
	for word := range strings.FieldsSeq(words) {
		if !strings.Contains(text, word) {
			return false
		}
	}
	return true
}

func ticket(t *testing.T) []parameter {
	t.Helper()
	for _, f := range known().layouts {
		if len(f.targets) > 0 {
			return f.inputs
		}
	}
	t.Fatal("no layout of a ticket")
	return nil
}

// layout returns a message without a selector.
func layout(t *testing.T, types string, arguments ...Argument) []byte {
	t.Helper()
	_, inputs, _, err := parseSignature(types)
	if err != nil {
		t.Fatal(err)
	}
	return encode(inputs, arguments)
}

// one is an array with one element.
func one(value string) Argument { return Argument{Items: of(value)} }

// A proposal may nest batches in each other without end: what is decoded is bounded, and what
// is left out is counted.
func TestAttackNestedBatches(t *testing.T) {
	data := call(t, "transfer(address,uint256)", of(bob, "1")...)
	for range 40 {
		data = call(t, "execute(address,uint256,bytes)", of(alice, "0", bytesOf(data))...)
	}
	d := Decode(Call{Target: alice, Value: "0", Data: data})
	depth := 0
	for inside := &d; len(inside.Calls) > 0; inside = &inside.Calls[0] {
		depth++
	}
	check.Want(t, maxDepth, depth, "decoded to a depth")
	many := slices.Repeat(slices.Concat([]byte{0}, unhex(alice), make([]byte, 64)), 3*maxCalls)
	d = Decode(Call{Target: alice, Value: "0", Data: call(t, "multiSend(bytes)", of(bytesOf(many))...)})
	if len(d.Calls) != maxCalls || d.Omitted != 2*maxCalls || d.Undecoded == "" {
		t.Errorf("decoded %d calls, %d omitted, %q", len(d.Calls), d.Omitted, d.Undecoded)
	}
}

// A contract may state any text as a signature.
func TestSignatures(t *testing.T) {
	for text, want := range map[string]string{
		"transfer(address,uint)":                       "transfer(address,uint256)",
		"set( uint256 [2][] values , (bool ok) flag )": "set(uint256[2][],(bool))",
		"f()": "f()",
	} {
		if _, _, got, err := parseSignature(text); err != nil || got != want {
			t.Errorf("%q: %q, %v", text, got, err)
		}
	}
	for _, text := range []string{
		"", "f", "f(", "f(uint7)", "f(uint256)x", "f(uint256,)", "f(uint[0])", "f(())", "f(bytes33)", "f(uint256[65535][65535])", "f(ufixed)",
		"f(" + strings.Repeat("(", 40) + "bool" + strings.Repeat(")", 40) + ")", "f(bool" + strings.Repeat("[]", 40) + ")", "f(uint0256)",
		"f((((bool[1][1][1][1])[1][1][1][1])[1][1][1][1])[1][1][1][1])",
		"tr\u0430nsfer(address,uint256)", "transfer\u200b(address,uint256)",
	} {
		if _, _, got, err := parseSignature(text); err == nil {
			t.Errorf("%q is read as %q", text, got)
		}
	}
}

// A selector that two functions have is decoded by the one that fits; if both fit, both are stated.
func TestFunctionsWithOneSelector(t *testing.T) {
	table := &table{functions: map[Selector][]*function{}}
	for _, row := range []string{"mint_burn burn(uint256 amount)", "other collate_propagate_storage(bytes16 x)"} {
		check.MustDo(t, table.add(row))
	}
	selector := SelectorOf("burn(uint256)")
	if fit, _, _ := table.candidates(Call{Data: append(selector[:], word(length256(7))...)}); len(fit) != 1 || fit[0].kind != MintBurn {
		t.Errorf("7 fits %d functions, want burn alone", len(fit))
	}
	if fit, _, _ := table.candidates(Call{Data: append(selector[:], make([]byte, 32)...)}); len(fit) != 2 {
		t.Errorf("0 fits %d functions, want both", len(fit))
	}
}

func TestUnlimited(t *testing.T) {
	d := Decode(Call{Target: alice, Value: "0", Data: call(t, "approve(address,uint256)", of(bob, maxUint(256))...)})
	if !d.Arguments[1].IsUnlimited() || d.Arguments[0].IsUnlimited() {
		t.Errorf("%+v", d.Arguments)
	}
}

func TestGetters(t *testing.T) {
	for function, want := range map[string]string{
		"setVotingDelay(uint48)":                          "[votingDelay() getVotingDelay()] uint48",
		"_setVotingPeriod(uint256)":                       "[votingPeriod() getVotingPeriod()] uint256",
		"updateDelay(uint256)":                            "[delay() getDelay() getMinDelay()] uint256",
		"changeVoteTime(uint64)":                          "[voteTime() getVoteTime()] uint64",
		"_setWhitelistAccountExpiration(address,uint256)": "[] ",
		"cancel(bytes32)":                                 "[] ",
		"drip(bytes32)":                                   "[] ",
	} {
		selector := SelectorOf(function)
		d := Decode(Call{Target: alice, Value: "0", Data: append(selector[:], make([]byte, 32*(1+strings.Count(function, ",")))...)})
		getters, kind := d.Getters()
		if got := fmt.Sprint(getters, " ", kind); got != want {
			t.Errorf("%s: got %s, want %s", function, got, want)
		}
	}
}

// FuzzDecode feeds any bytes and any signature: decoding never panics, and what is decoded
// encodes to the same bytes.
func FuzzDecode(f *testing.F) {
	for _, functions := range known().functions {
		r := rand.New(rand.NewPCG(3, 4))
		selector := SelectorOf(functions[0].signature)
		f.Add("", append(selector[:], encode(functions[0].inputs, invent(r, functions[0].inputs))...))
		f.Add(functions[0].signature, encode(functions[0].inputs, invent(r, functions[0].inputs)))
	}
	f.Fuzz(func(t *testing.T, signature string, data []byte) {
		d := Decode(Call{Chain: "eip155:1", Target: alice, Value: "0", Signature: signature, Data: data})
		count := 0
		d.Visit(func(inside *Decoded) {
			count++
			recode(t, inside)
		})
		if count > 1+maxCalls {
			t.Fatalf("%d calls", count)
		}
	})
}

// recode encodes what was decoded again.
func recode(t *testing.T, d *Decoded) {
	t.Helper()
	d.Payments() // never panics
	if d.Function == "" {
		return
	}
	_, inputs, _, err := parseSignature(d.Function)
	if err != nil {
		t.Fatal(err)
	}
	data := encode(inputs, d.Arguments)
	if selector := SelectorOf(d.Function); d.Signature == "" && d.Function[0] != '(' {
		data = append(selector[:], data...)
	}
	if string(data) != string(d.Data) {
		t.Fatalf("%s encodes to %x, not %x", d.Function, data, d.Data)
	}
}

// The calls of real proposals decode, those inside included.
func TestRealCallsDecode(t *testing.T) {
	path := os.Getenv("PNYX_TEST_CALLS")
	if path == "" {
		t.Skip("PNYX_TEST_CALLS names no file of calls")
	}
	file := check.Must(os.Open(path))(t)
	defer file.Close()
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<24)
	all, decoded := 0, 0
	for lines.Scan() {
		var proposal struct {
			Chain string
			Calls []struct{ Target, Value, Calldata string }
		}
		check.MustDo(t, json.Unmarshal(lines.Bytes(), &proposal))
		for _, c := range proposal.Calls {
			d := Decode(Call{Chain: proposal.Chain, Target: c.Target, Value: c.Value, Data: unhex(c.Calldata)})
			d.Visit(func(inside *Decoded) {
				if all++; inside.Undecoded == "" {
					decoded++
				}
				recode(t, inside)
			})
		}
	}
	if err := lines.Err(); err != nil || all == 0 || decoded*100 < all*95 {
		t.Errorf("%d of %d calls decode, want 95 of 100; %v", decoded, all, err)
	}
}
